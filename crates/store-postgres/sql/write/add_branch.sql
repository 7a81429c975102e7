-- New branches, sorted by the caller.
CREATE OR REPLACE FUNCTION cw_add_branch(in_branches cw_branch[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_pmo_batch_tasks (project_id, batch_id, task_index, created_at, agent_id, agent_turn_id,
        turn_epoch, context_box_id, output_box_id, attempts, next_attempt_at, warning, status, deliverable_card_id,
        error_detail, error_code, updated_at)
    SELECT project_id, batch_id, task_index, created_at, agent_id, agent_turn_id, turn_epoch, context_box_id,
        output_box_id, attempts, next_attempt_at, warning, status, deliverable_card_id, error_detail, error_code,
        updated_at
    FROM unnest(in_branches);
    RETURN true;
END
$$;
