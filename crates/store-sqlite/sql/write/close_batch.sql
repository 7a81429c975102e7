UPDATE state_pmo_batches
SET status = ?4, result_card_id = ?5, closed_at = ?6
WHERE project_id = ?1 AND batch_id = ?2 AND status = 'running' AND closing IS ?3
