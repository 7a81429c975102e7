-- A remembered answer.
CREATE OR REPLACE FUNCTION cw_read_answer(in_project text, in_caller text, in_key text) RETURNS answers
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT a FROM answers a WHERE a.project_id = in_project AND a.caller = in_caller AND a.key = in_key);
END
$$;
