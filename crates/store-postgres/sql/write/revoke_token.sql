-- Ends tokens that are not ended yet.
CREATE OR REPLACE FUNCTION cw_revoke_token(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    found_rows bigint;
BEGIN
    UPDATE tokens t
    SET revoked_at = r.at
    FROM jsonb_to_recordset(in_rows) AS r (token_id uuid, at bigint)
    WHERE t.project_id = in_project AND t.token_id = r.token_id AND t.revoked_at IS NULL;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'token';
    END IF;
    RETURN true;
END
$$;
