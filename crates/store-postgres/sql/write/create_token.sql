-- New tokens.
CREATE OR REPLACE FUNCTION cw_create_token(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tokens (project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at)
    SELECT in_project, token_id, decode(secret_hash, 'hex'), scopes, created_at, expires_at, revoked_at
    FROM jsonb_to_recordset(in_rows) AS r (
        token_id uuid, secret_hash text, scopes text, created_at bigint, expires_at bigint, revoked_at bigint)
    ORDER BY token_id;
    RETURN true;
END
$$;
