-- Small changes to heads, if their guards hold. The copies are left alone. See cw_move_head.
CREATE OR REPLACE FUNCTION cw_nudge_head(in_project text, in_heads cw_head[], in_agents text[], in_nth integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    wanted integer := cardinality(in_heads);
    nudged integer;
BEGIN
    IF in_nth > 0 OR in_heads[wanted].nth > 0 THEN
        wanted := (SELECT count(*) FROM unnest(in_heads) WHERE nth = in_nth);
    END IF;
    UPDATE state_agent_state_head h
    SET updated_at = greatest(h.updated_at, u.updated_at),
        last_doorbell_at = coalesce(u.last_doorbell_at, h.last_doorbell_at),
        deliverable_card_id = coalesce(u.deliverable_card_id, h.deliverable_card_id),
        open_calls = h.open_calls + u.open_calls, marks = h.marks + u.marks, queued = h.queued + u.queued,
        busy = h.status <> 'idle' OR h.queued + u.queued > 0
    FROM unnest(in_heads) AS u
    WHERE h.project_id = in_project AND h.agent_id = ANY (in_agents) AND h.agent_id = u.agent_id AND u.nth = in_nth
        AND h.turn_epoch = u.guard_epoch AND h.status = u.guard_status
        AND (u.guard_marks IS NULL OR h.marks = u.guard_marks)
        AND h.queued BETWEEN u.queued_min AND u.queued_max AND h.queued + u.queued >= 0
        AND h.open_calls + u.open_calls >= 0;
    GET DIAGNOSTICS nudged = ROW_COUNT;
    IF nudged <> wanted THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    RETURN true;
END
$$;
