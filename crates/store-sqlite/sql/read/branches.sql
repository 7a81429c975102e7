SELECT batch_id, task_index, status, agent_id, agent_turn_id, turn_epoch, context_box_id, output_box_id, attempts,
       next_attempt_at, deliverable_card_id, error_detail, error_code, warning, created_at, updated_at
FROM state_pmo_batch_tasks
WHERE project_id = ?1 AND batch_id = ?2 AND task_index >= ?3
ORDER BY task_index
LIMIT ?4
