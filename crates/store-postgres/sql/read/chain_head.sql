SELECT position, hash
FROM audit
WHERE project_id = $1 AND position IS NOT NULL
ORDER BY position DESC
LIMIT 1
