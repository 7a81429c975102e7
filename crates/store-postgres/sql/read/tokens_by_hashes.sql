-- Tokens by the hashes of their secrets ($1), looked up one by one.
SELECT t.project_id, t.token_id, t.secret_hash, t.scopes, t.created_at, t.expires_at, t.revoked_at
FROM unnest($1::bytea[]) AS wanted (secret_hash)
CROSS JOIN LATERAL (SELECT * FROM tokens t WHERE t.secret_hash = wanted.secret_hash LIMIT 1) AS t
