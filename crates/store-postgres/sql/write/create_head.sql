-- The head of an agent that has none, and the copy of it. A head that is older than the copy of a lost one was rebuilt
-- from something older.
CREATE OR REPLACE FUNCTION cw_create_head(in_project text, item cw_head) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_agent_state_head (project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at, queued, busy)
    VALUES (in_project, item.agent_id, item.active_agent_turn_id, item.inbox_id, item.profile_box_id,
        item.context_box_id, item.output_box_id, item.last_output_box_id, item.turn_epoch, item.output_watermark,
        item.depth, item.dispatched_at, item.channel_id, item.worker_target, item.trace_id, item.parent_step_id,
        item.status, item.waiting_tool_count, item.resume_deadline, item.last_doorbell_at,
        item.deliverable_card_id, item.open_calls, item.marks, item.updated_at, item.queued,
        item.status <> 'idle' OR item.queued > 0);
    IF EXISTS (
        SELECT 1
        FROM state_snapshots s
        WHERE s.project_id = in_project AND s.agent_id = item.agent_id
            AND (s.turn_epoch > item.turn_epoch OR s.turn_epoch = item.turn_epoch AND item.status <> 'idle'))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    RETURN cw_put_snapshot(ARRAY[item]);
END
$$;
