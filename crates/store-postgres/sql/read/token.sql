SELECT project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at
FROM tokens
WHERE project_id = $1 AND token_id = $2
