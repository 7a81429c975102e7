SELECT c
FROM state_tool_calls c
WHERE c.project_id = $1 AND c.agent_turn_id = $2
ORDER BY c.tool_call_id
