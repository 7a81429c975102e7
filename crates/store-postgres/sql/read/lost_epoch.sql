-- The highest epoch in an agent's inbox rows and steps.
CREATE OR REPLACE FUNCTION cw_read_lost_epoch(in_project text, in_agent text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT greatest(
            (SELECT max(turn_epoch) FROM state_agent_inbox WHERE project_id = in_project AND agent_id = in_agent),
            (SELECT max(turn_epoch) FROM state_agent_steps WHERE project_id = in_project AND agent_id = in_agent),
            0));
END
$$;
