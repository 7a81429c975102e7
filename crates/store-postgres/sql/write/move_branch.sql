-- New values for branches that are in the states they are expected in: each once, sorted by the caller. When a branch
-- was made stays. The project comes with each row (see cw_move_head).
CREATE OR REPLACE FUNCTION cw_move_branch(in_branches cw_branch[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    moved integer;
BEGIN
    UPDATE state_pmo_batch_tasks t
    SET agent_id = u.agent_id, agent_turn_id = u.agent_turn_id, turn_epoch = u.turn_epoch,
        context_box_id = u.context_box_id, output_box_id = u.output_box_id, attempts = u.attempts,
        next_attempt_at = u.next_attempt_at, warning = u.warning, status = u.status,
        deliverable_card_id = u.deliverable_card_id, error_detail = u.error_detail, error_code = u.error_code,
        updated_at = u.updated_at
    FROM unnest(in_branches) AS u
    WHERE u.op = 'move' AND t.project_id = u.project_id AND t.batch_id = u.batch_id AND t.task_index = u.task_index
        AND t.status = u.from_status;
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> cardinality(in_branches) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'batch';
    END IF;
    RETURN true;
END
$$;
