SELECT s
FROM state_sessions s
WHERE s.project_id = $1 AND s.namespace = $2 AND s.session_id > $3
ORDER BY s.session_id
LIMIT $4
