UPDATE state_pmo_batches
SET closing = ?3
WHERE project_id = ?1 AND batch_id = ?2 AND status = 'running' AND closing IS NULL
