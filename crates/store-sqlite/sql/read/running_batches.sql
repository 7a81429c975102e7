SELECT project_id, batch_id
FROM state_pmo_batches INDEXED BY state_pmo_batches_running
WHERE status = 'running' AND (project_id, batch_id) > (?1, ?2)
ORDER BY project_id, batch_id
LIMIT ?3
