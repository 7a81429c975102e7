SELECT batch_id, parent_agent_id, parent_agent_turn_id, parent_turn_epoch, parent_tool_call_id, channel_id, trace_id,
       depth, task_count, fail_fast, enough, parallel, result_tokens, deadline_at, created_at, status, closing,
       result_card_id, closed_at, parent_step_id
FROM state_pmo_batches
WHERE project_id = ?1 AND batch_id = ?2
