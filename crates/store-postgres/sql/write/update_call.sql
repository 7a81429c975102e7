-- New values for tool calls that have no answer, one after the other. Whose a call is and when it was made stay.
CREATE OR REPLACE FUNCTION cw_update_call(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::state_tool_calls, e.value) AS r
        ORDER BY r.agent_turn_id, r.tool_call_id, e.place
    LOOP
        UPDATE state_tool_calls
        SET call_card_id = item.call_card_id, waiting = item.waiting, answer_status = item.answer_status,
            terminate = item.terminate, answer_card_id = item.answer_card_id, answered_at = item.answered_at
        WHERE project_id = in_project AND agent_turn_id = item.agent_turn_id AND tool_call_id = item.tool_call_id
            AND answer_card_id IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'call';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
