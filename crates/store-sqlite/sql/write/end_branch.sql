UPDATE state_pmo_batch_tasks
SET status = ?4, deliverable_card_id = ?5, error_detail = ?6, error_code = ?7, updated_at = ?8
WHERE project_id = ?1 AND batch_id = ?2 AND task_index = ?3 AND (status = 'pending' OR status = 'dispatched')
  AND EXISTS (
        SELECT 1 FROM state_pmo_batches
        WHERE project_id = ?1 AND batch_id = ?2 AND status = 'running' AND closing IS NULL)
