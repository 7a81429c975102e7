SELECT batch_id, parent_agent_id, parent_agent_turn_id, parent_turn_epoch, parent_tool_call_id, channel_id, trace_id,
       depth, task_count, fail_fast, enough, parallel, result_tokens, deadline_at, created_at, status, closing,
       result_card_id, closed_at, parent_step_id
FROM state_pmo_batches
WHERE project_id = ?1 AND batch_id < ?3
  AND (?5 IS NULL OR parent_agent_id = ?5) AND (?6 IS NULL OR trace_id = ?6) AND (?7 IS NULL OR status = ?7)
  AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
ORDER BY batch_id DESC
LIMIT ?4
