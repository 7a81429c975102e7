-- The heads of agents that have none, and the copies of them: each once, sorted by agent by the caller. A head that is
-- older than the copy of a lost one was rebuilt from something older. The project comes with each row (see
-- cw_move_head).
CREATE OR REPLACE FUNCTION cw_create_head(in_heads cw_head[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    copied integer;
    newer integer;
BEGIN
    INSERT INTO state_agent_state_head (project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at, queued, busy)
    SELECT project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id, context_box_id, output_box_id,
        last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at, channel_id, worker_target, trace_id,
        parent_step_id, status, waiting_tool_count, resume_deadline, last_doorbell_at, deliverable_card_id,
        open_calls, marks, updated_at, queued, status <> 'idle' OR queued > 0
    FROM unnest(in_heads);
    SELECT count(*), count(*) FILTER (
        WHERE s.turn_epoch > u.turn_epoch OR s.turn_epoch = u.turn_epoch AND u.status <> 'idle')
    INTO copied, newer
    FROM unnest(in_heads) AS u
    JOIN state_snapshots s ON s.project_id = u.project_id AND s.agent_id = u.agent_id
    WHERE u.op = 'create';
    IF newer > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    IF copied = 0 THEN
        RETURN cw_add_snapshot(in_heads);
    END IF;
    RETURN cw_put_snapshot(in_heads, cardinality(in_heads));
END
$$;
