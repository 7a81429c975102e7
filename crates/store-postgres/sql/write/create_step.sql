-- New steps, sorted by id by the caller. The rows are rows of the table itself.
CREATE OR REPLACE FUNCTION cw_create_step(in_steps state_agent_steps[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_agent_steps SELECT * FROM unnest(in_steps);
    RETURN true;
END
$$;
