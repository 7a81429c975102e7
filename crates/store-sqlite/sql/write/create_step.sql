INSERT INTO state_agent_steps (project_id, step_id, agent_id, agent_turn_id, turn_epoch, phase, status, call_id,
       request_box_id, output_len, trace_id, metadata, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
