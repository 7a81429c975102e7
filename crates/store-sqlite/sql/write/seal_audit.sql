UPDATE audit
SET position = ?3, hash = ?4
WHERE project_id = ?1 AND seq = ?2 AND position IS NULL
