-- The head of an agent.
CREATE OR REPLACE FUNCTION cw_read_head(in_project text, in_agent text) RETURNS state_agent_state_head
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT h FROM state_agent_state_head h WHERE h.project_id = in_project AND h.agent_id = in_agent);
END
$$;
