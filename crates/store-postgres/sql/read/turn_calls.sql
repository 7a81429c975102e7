-- The tool calls of a turn that have no answer, and those that end it.
CREATE OR REPLACE FUNCTION cw_read_turn_calls(in_project text, in_turn uuid) RETURNS state_tool_calls[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT c
        FROM state_tool_calls c
        WHERE c.project_id = in_project AND c.agent_turn_id = in_turn AND (c.answer_card_id IS NULL OR c.terminate)
        ORDER BY c.tool_call_id);
END
$$;
