-- Ends of branches, told by the ends of their turns: each once, sorted by the caller, their batches held before. A branch
-- that has ended, or whose batch is closed or being closed, is left alone. The project comes with each row (see
-- cw_move_head); the batch is looked up by a subquery, so that no plan can start from all batches that are running.
CREATE OR REPLACE FUNCTION cw_end_branch(in_branches cw_branch[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE state_pmo_batch_tasks t
    SET status = u.status, deliverable_card_id = u.deliverable_card_id, error_detail = u.error_detail,
        error_code = u.error_code, updated_at = u.updated_at
    FROM unnest(in_branches) AS u
    WHERE u.op = 'end' AND t.project_id = u.project_id AND t.batch_id = u.batch_id AND t.task_index = u.task_index
        AND t.status IN ('pending', 'dispatched')
        AND (
            SELECT b.status = 'running' AND b.closing IS NULL
            FROM state_pmo_batches b
            WHERE b.project_id = u.project_id AND b.batch_id = u.batch_id);
    RETURN true;
END
$$;
