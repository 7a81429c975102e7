UPDATE state_agent_steps
SET phase = ?4, status = ?5, call_id = ?6, request_box_id = ?7, output_len = ?8, metadata = ?9, updated_at = ?10
WHERE project_id = ?1 AND step_id = ?2 AND agent_turn_id = ?3
