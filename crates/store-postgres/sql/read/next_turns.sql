-- The first turns that wait in an agent's inbox.
CREATE OR REPLACE FUNCTION cw_read_next_turns(in_project text, in_agent text, in_limit bigint)
RETURNS state_agent_inbox[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT i
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_id = in_agent AND i.kind = 'turn' AND i.status = 'queued'
        ORDER BY i.seq
        LIMIT in_limit);
END
$$;
