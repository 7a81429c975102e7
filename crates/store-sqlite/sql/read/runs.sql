SELECT inbox_id, seq, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id, worker_target, channel_id,
       depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id, output_box_id, payload, worker_id,
       token_hash, created_at, processed_at, retry_count, next_retry_at, reason, task_status, deliverable_card_id,
       error, error_code, output_from, output_to, ended_at, batch_id, task_index
FROM state_agent_inbox INDEXED BY state_agent_inbox_by_id
WHERE project_id = ?1 AND inbox_id < ?2 AND kind = 'turn' AND parent_agent_turn_id IS NULL
ORDER BY inbox_id DESC
LIMIT ?3
