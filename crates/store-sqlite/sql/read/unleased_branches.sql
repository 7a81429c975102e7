SELECT batch_id, task_index, status, agent_id, agent_turn_id, turn_epoch, context_box_id, output_box_id, attempts,
       next_attempt_at, deliverable_card_id, error_detail, error_code, warning, created_at, updated_at
FROM state_pmo_batch_tasks INDEXED BY state_pmo_batch_tasks_unleased
WHERE project_id = ?1 AND batch_id = ?2 AND status = 'dispatched' AND turn_epoch IS NULL AND updated_at < ?3
ORDER BY task_index
LIMIT ?4
