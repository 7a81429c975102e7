INSERT INTO tokens (project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
