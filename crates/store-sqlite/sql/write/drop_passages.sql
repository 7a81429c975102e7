DELETE FROM resource_passages
WHERE project_id = ?1 AND kind = ?2 AND namespace = ?3 AND source = ?4
