SELECT agent_id, agent_turn_id, tool_call_id, call_card_id, waiting, answer_status, terminate, answer_card_id,
       answered_at, created_at
FROM state_tool_calls
WHERE project_id = ?1 AND agent_turn_id = ?2 AND (answered_at IS NULL OR terminate = 1)
ORDER BY tool_call_id
