-- Heads of agents that have none, and the copies of them.
CREATE OR REPLACE FUNCTION cw_create_head(in_project text, in_heads cw_head[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_agent_state_head (project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at, queued, busy)
    SELECT in_project, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at, queued, status <> 'idle' OR queued > 0
    FROM unnest(in_heads);
    RETURN cw_put_snapshot(
        in_project, in_heads, ARRAY(SELECT agent_id FROM unnest(in_heads)), 0, cardinality(in_heads));
END
$$;
