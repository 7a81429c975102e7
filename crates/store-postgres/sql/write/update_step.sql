-- New values for steps of the same turns, sorted by id by the caller. Whose a step is and when it began stay.
CREATE OR REPLACE FUNCTION cw_update_step(in_project text, in_steps state_agent_steps[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item state_agent_steps;
BEGIN
    FOREACH item IN ARRAY in_steps LOOP
        UPDATE state_agent_steps
        SET phase = item.phase, status = item.status, call_id = item.call_id,
            request_box_id = item.request_box_id, output_len = item.output_len, metadata = item.metadata,
            updated_at = item.updated_at
        WHERE project_id = in_project AND step_id = item.step_id AND agent_turn_id = item.agent_turn_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'step';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
