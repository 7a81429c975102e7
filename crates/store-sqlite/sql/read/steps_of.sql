SELECT step_id, agent_id, agent_turn_id, turn_epoch, phase, status, call_id, request_box_id, output_len, trace_id,
       metadata, created_at, updated_at
FROM state_agent_steps INDEXED BY state_agent_steps_by_turn
WHERE project_id = ?1 AND agent_turn_id = ?2
LIMIT ?3
