SELECT inbox_id, seq, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id, worker_target, channel_id,
       depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id, output_box_id, payload, worker_id,
       token_hash, created_at, processed_at, retry_count, next_retry_at, reason, task_status, deliverable_card_id,
       error, error_code, output_from, output_to, ended_at, batch_id, task_index, project_id
FROM state_agent_inbox INDEXED BY state_agent_inbox_due
WHERE (status = 'pending' OR status = 'processing' OR status = 'deferred') AND (project_id, inbox_id) > (?1, ?2)
  AND CASE status
        WHEN 'pending' THEN created_at <= ?3
        WHEN 'deferred' THEN next_retry_at <= ?6
        ELSE processed_at <= CASE kind WHEN 'turn' THEN ?4 ELSE ?7 END
      END
ORDER BY project_id, inbox_id
LIMIT ?5
