-- The tool calls of a turn that are open, or end it.
SELECT c
FROM state_tool_calls c
WHERE c.project_id = {tenant} AND c.agent_turn_id = {turn} AND (c.answer_card_id IS NULL OR c.terminate)
ORDER BY c.tool_call_id
