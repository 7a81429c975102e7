-- Answers to give when requests come again.
CREATE OR REPLACE FUNCTION cw_remember_answer(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO answers (project_id, caller, key, request_hash, status, body, created_at)
    SELECT in_project, caller, key, decode(request_hash, 'hex'), status, body, created_at
    FROM jsonb_to_recordset(in_rows) AS r (
        caller text, key text, request_hash text, status integer, body text, created_at bigint)
    ORDER BY caller, key;
    RETURN true;
END
$$;
