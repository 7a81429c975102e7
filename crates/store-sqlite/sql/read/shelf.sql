-- Whether a shelf has anything.
SELECT 1 FROM resource_passages WHERE project_id = ?1 AND kind = ?2 AND namespace = ?3 LIMIT 1
