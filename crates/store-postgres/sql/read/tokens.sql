SELECT project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at
FROM tokens
WHERE ($1::text IS NULL OR project_id = $1) AND token_id >= $2
ORDER BY token_id
LIMIT $3
