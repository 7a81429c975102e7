SELECT i.inbox_id, i.seq, i.agent_id, i.kind, i.status, i.agent_turn_id, i.turn_epoch, i.correlation_id, i.worker_target, i.channel_id,
       i.depth, i.trace_id, i.parent_agent_turn_id, i.parent_tool_call_id, i.parent_step_id, i.output_box_id, i.payload, i.worker_id,
       i.token_hash, i.created_at, i.processed_at, i.retry_count, i.next_retry_at, i.reason, i.task_status, i.deliverable_card_id,
       i.error, i.error_code, i.output_from, i.output_to, i.ended_at, i.batch_id, i.task_index
FROM state_execution_edges e INDEXED BY state_execution_edges_by_source_turn
CROSS JOIN state_agent_inbox i INDEXED BY state_agent_inbox_by_turn
WHERE e.project_id = ?1 AND e.source_agent_turn_id = ?2 AND e.primitive = 'enqueue' AND e.edge_phase = 'request'
  AND i.project_id = ?1 AND i.agent_turn_id = e.target_agent_turn_id AND i.is_turn = 1
LIMIT ?3
