-- New tool calls.
CREATE OR REPLACE FUNCTION cw_open_call(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_tool_calls (project_id, agent_turn_id, tool_call_id, agent_id, created_at, call_card_id,
        waiting, answer_status, terminate, answer_card_id, answered_at)
    SELECT in_project, agent_turn_id, tool_call_id, agent_id, created_at, call_card_id, waiting, answer_status,
        terminate, answer_card_id, answered_at
    FROM jsonb_populate_recordset(NULL::state_tool_calls, in_rows)
    ORDER BY agent_turn_id, tool_call_id;
    RETURN true;
END
$$;
