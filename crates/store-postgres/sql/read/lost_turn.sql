-- The row of the turn that was live, if it is still open.
CREATE OR REPLACE FUNCTION cw_read_lost_turn(in_project text, in_agent text) RETURNS state_agent_inbox
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT i
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_id = in_agent AND i.kind = 'turn'
            AND i.status IN ('pending', 'processing', 'deferred')
        ORDER BY i.seq DESC
        LIMIT 1);
END
$$;
