-- Tokens by the hashes of their secrets (?1, in hexadecimal).
SELECT project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at
FROM json_each(?1) CROSS JOIN tokens ON secret_hash = unhex(json_each.value)
