SELECT project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at
FROM tokens
WHERE token_id = $1
