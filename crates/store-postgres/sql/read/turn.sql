-- The row of a turn.
CREATE OR REPLACE FUNCTION cw_read_turn(in_project text, in_turn uuid) RETURNS state_agent_inbox
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT i
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_turn_id = in_turn AND i.kind = 'turn');
END
$$;
