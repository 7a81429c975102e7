-- Heads in new states, if their guards hold, and the copies of them. `queued` is what is added to the waiting turns;
-- a count below 0 is a guard that does not hold.
-- The list of agents says nothing that the join does not: it keeps a plan that was made while the table was empty from
-- reading all heads of the project.
CREATE OR REPLACE FUNCTION cw_move_head(in_project text, in_heads cw_head[], in_agents text[], in_nth integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    wanted integer := cardinality(in_heads);
    moved integer;
BEGIN
    IF in_nth > 0 OR in_heads[wanted].nth > 0 THEN
        wanted := (SELECT count(*) FROM unnest(in_heads) WHERE nth = in_nth);
    END IF;
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
    WHERE h.project_id = in_project AND h.agent_id = ANY (in_agents) AND h.agent_id = u.agent_id AND u.nth = in_nth
        AND h.turn_epoch = u.guard_epoch AND h.status = u.guard_status
        AND (u.guard_marks IS NULL OR h.marks = u.guard_marks)
        AND h.queued BETWEEN u.queued_min AND u.queued_max AND h.queued + u.queued >= 0;
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> wanted THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    RETURN moved = 0 OR cw_put_snapshot(in_project, in_heads, in_agents, in_nth, moved);
END
$$;
