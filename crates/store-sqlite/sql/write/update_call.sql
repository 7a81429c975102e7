UPDATE state_tool_calls
SET call_card_id = ?4, waiting = ?5, answer_status = ?6, terminate = ?7, answer_card_id = ?8, answered_at = ?9
WHERE project_id = ?1 AND agent_turn_id = ?2 AND tool_call_id = ?3 AND answered_at IS NULL
