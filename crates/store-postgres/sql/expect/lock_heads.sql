-- Locks heads in one order, for a commit that writes them with more than one statement.
CREATE OR REPLACE FUNCTION cw_lock_heads(in_project text, in_agents text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item text;
BEGIN
    FOREACH item IN ARRAY in_agents LOOP
        PERFORM 1 FROM state_agent_state_head WHERE project_id = in_project AND agent_id = item FOR UPDATE;
    END LOOP;
    RETURN true;
END
$$;
