-- A token of the realm.
CREATE OR REPLACE FUNCTION cw_read_token(in_project text, in_token uuid) RETURNS tokens
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT t FROM tokens t WHERE t.project_id = in_project AND t.token_id = in_token);
END
$$;
