SELECT request_hash, status, body, created_at
FROM answers
WHERE project_id = $1 AND caller = $2 AND key = $3
