-- A small change to a head, if the guard holds. The copy is left alone.
CREATE OR REPLACE FUNCTION cw_nudge_head(in_project text, item cw_head) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE state_agent_state_head
    SET updated_at = greatest(updated_at, item.updated_at),
        last_doorbell_at = coalesce(item.last_doorbell_at, last_doorbell_at),
        deliverable_card_id = coalesce(item.deliverable_card_id, deliverable_card_id),
        open_calls = open_calls + item.open_calls, marks = marks + item.marks, queued = queued + item.queued,
        busy = status <> 'idle' OR queued + item.queued > 0
    WHERE project_id = in_project AND agent_id = item.agent_id AND turn_epoch = item.guard_epoch
        AND status = item.guard_status AND (item.guard_marks IS NULL OR marks = item.guard_marks)
        AND queued BETWEEN item.queued_min AND item.queued_max AND queued + item.queued >= 0
        AND open_calls + item.open_calls >= 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    RETURN true;
END
$$;
