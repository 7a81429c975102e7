SELECT inbox_id, seq, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id, worker_target, channel_id,
       depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id, output_box_id, payload, worker_id,
       token_hash, created_at, processed_at, retry_count, next_retry_at, reason, task_status, deliverable_card_id,
       error, error_code, output_from, output_to, ended_at, batch_id, task_index, project_id
FROM state_agent_inbox AS i INDEXED BY state_agent_inbox_claimable
WHERE worker_target = ?1 AND (status = 'pending' OR status = 'deferred')
  AND CASE WHEN ?2 IS NULL
      THEN NOT EXISTS (SELECT 1 FROM resource_projects AS p WHERE p.project_id = i.project_id AND p.deleted_at IS NOT NULL)
      ELSE project_id IN (SELECT value FROM json_each(?2)) END
  AND (status = 'pending' OR next_retry_at <= ?3)
ORDER BY seq
LIMIT ?4
