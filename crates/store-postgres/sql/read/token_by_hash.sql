SELECT project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at
FROM tokens
WHERE secret_hash = $1
