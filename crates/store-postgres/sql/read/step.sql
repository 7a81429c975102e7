-- A step.
CREATE OR REPLACE FUNCTION cw_read_step(in_project text, in_step text) RETURNS state_agent_steps
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT s FROM state_agent_steps s WHERE s.project_id = in_project AND s.step_id = in_step);
END
$$;
