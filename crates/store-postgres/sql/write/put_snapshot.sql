-- The copies of heads (WD-08) that have none yet.
CREATE OR REPLACE FUNCTION cw_add_snapshot(in_heads cw_head[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_snapshots (project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at)
    SELECT project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id, context_box_id, output_box_id,
        last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at, channel_id, worker_target, trace_id,
        parent_step_id, status, waiting_tool_count, resume_deadline, last_doorbell_at, deliverable_card_id,
        open_calls, marks, updated_at
    FROM unnest(in_heads)
    WHERE op IN ('create', 'move')
    ON CONFLICT (project_id, agent_id) DO NOTHING;
    RETURN true;
END
$$;

-- The copies of heads that were created or moved (WD-08), each once; `in_copied` says how many of the heads are copied.
-- Whoever writes them holds the heads, so nobody else does; and an update that finds its rows writes less to the log
-- than an insert that finds them taken.
CREATE OR REPLACE FUNCTION cw_put_snapshot(in_heads cw_head[], in_copied integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    updated integer;
BEGIN
    UPDATE state_snapshots s
    SET active_agent_turn_id = u.active_agent_turn_id, inbox_id = u.inbox_id, profile_box_id = u.profile_box_id,
        context_box_id = u.context_box_id, output_box_id = u.output_box_id,
        last_output_box_id = u.last_output_box_id, turn_epoch = u.turn_epoch,
        output_watermark = u.output_watermark, depth = u.depth, dispatched_at = u.dispatched_at,
        channel_id = u.channel_id, worker_target = u.worker_target, trace_id = u.trace_id,
        parent_step_id = u.parent_step_id, status = u.status, waiting_tool_count = u.waiting_tool_count,
        resume_deadline = u.resume_deadline, last_doorbell_at = u.last_doorbell_at,
        deliverable_card_id = u.deliverable_card_id, open_calls = u.open_calls, marks = u.marks,
        updated_at = u.updated_at
    FROM unnest(in_heads) AS u
    WHERE u.op IN ('create', 'move') AND s.project_id = u.project_id AND s.agent_id = u.agent_id;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated < in_copied THEN
        RETURN cw_add_snapshot(in_heads);
    END IF;
    RETURN true;
END
$$;
