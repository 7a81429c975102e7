-- The depth of a turn.
CREATE OR REPLACE FUNCTION cw_read_depth(in_project text, in_turn uuid) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT i.depth
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_turn_id = in_turn AND i.kind = 'turn');
END
$$;
