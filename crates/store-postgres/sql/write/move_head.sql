-- Heads in new states, if their guards hold: each once, sorted by agent by the caller; and copies of those that `move`,
-- `in_copied` of them, not of those that `stay` within their epoch.
-- `queued` is what is added to the waiting turns; a count below 0 is a guard that does not hold.
-- The project comes with each row, and nothing else names it, so that no plan can start from all heads of a project;
-- and a plan that expects few rows here (every equality makes it expect fewer) starts from them.
CREATE OR REPLACE FUNCTION cw_move_head(in_heads cw_head[], in_copied integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    moved integer;
BEGIN
    UPDATE state_agent_state_head h
    SET active_agent_turn_id = u.active_agent_turn_id, inbox_id = u.inbox_id, profile_box_id = u.profile_box_id,
        context_box_id = u.context_box_id, output_box_id = u.output_box_id,
        last_output_box_id = u.last_output_box_id, turn_epoch = u.turn_epoch,
        output_watermark = u.output_watermark, depth = u.depth, dispatched_at = u.dispatched_at,
        channel_id = u.channel_id, worker_target = u.worker_target, trace_id = u.trace_id,
        parent_step_id = u.parent_step_id, status = u.status, waiting_tool_count = u.waiting_tool_count,
        resume_deadline = u.resume_deadline, last_doorbell_at = u.last_doorbell_at,
        deliverable_card_id = u.deliverable_card_id, open_calls = u.open_calls, marks = u.marks,
        updated_at = u.updated_at, queued = h.queued + u.queued,
        busy = u.status <> 'idle' OR h.queued + u.queued > 0
    FROM unnest(in_heads) AS u
    WHERE u.op IN ('move', 'stay') AND h.project_id = u.project_id AND h.agent_id = u.agent_id
        AND h.turn_epoch = u.guard_epoch AND h.status = u.guard_status
        AND (u.guard_marks IS NULL OR h.marks = u.guard_marks)
        AND h.queued BETWEEN u.queued_min AND u.queued_max AND h.queued + u.queued >= 0
        AND (u.guard_revision IS NULL OR u.guard_revision = (
            SELECT a.revision FROM resource_project_agents a
            WHERE a.project_id = u.project_id AND a.agent_id = u.agent_id));
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> cardinality(in_heads) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    IF in_copied > 0 THEN
        RETURN cw_put_snapshot(in_heads, in_copied);
    END IF;
    RETURN true;
END
$$;
