INSERT INTO answers (project_id, caller, key, request_hash, status, body, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
