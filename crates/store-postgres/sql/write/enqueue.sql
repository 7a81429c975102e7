-- New inbox rows, in order: `seq` is drawn as they are written.
CREATE OR REPLACE FUNCTION cw_enqueue(in_items state_agent_inbox[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_agent_inbox (project_id, inbox_id, created_at, agent_turn_id, agent_id, kind, correlation_id,
        worker_target, channel_id, depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id,
        output_box_id, payload, status, turn_epoch, worker_id, token_hash, processed_at, retry_count,
        next_retry_at, reason, task_status, deliverable_card_id, error, error_code, output_from, output_until,
        ended_at, batch_id, task_index)
    SELECT project_id, inbox_id, created_at, agent_turn_id, agent_id, kind, correlation_id,
        worker_target, channel_id, depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id,
        output_box_id, payload, status, turn_epoch, worker_id, token_hash, processed_at, retry_count,
        next_retry_at, reason, task_status, deliverable_card_id, error, error_code, output_from, output_until,
        ended_at, batch_id, task_index
    FROM unnest(in_items);
    RETURN true;
END
$$;
