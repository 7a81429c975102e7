-- Locks heads in one order, for a commit that writes them with more than one statement.
CREATE OR REPLACE FUNCTION cw_lock_heads(in_project text, in_agents text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1
    FROM state_agent_state_head
    WHERE project_id = in_project AND agent_id = ANY (in_agents)
    ORDER BY agent_id
    FOR UPDATE;
    RETURN true;
END
$$;
