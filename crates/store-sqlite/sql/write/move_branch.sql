UPDATE state_pmo_batch_tasks
SET status = ?4, agent_id = ?5, agent_turn_id = ?6, turn_epoch = ?7, context_box_id = ?8, output_box_id = ?9,
    attempts = ?10, next_attempt_at = ?11, deliverable_card_id = ?12, error_detail = ?13, error_code = ?14,
    warning = ?15, updated_at = ?16
WHERE project_id = ?1 AND batch_id = ?2 AND task_index = ?3 AND status = ?17
