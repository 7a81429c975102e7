-- Batches that are running, over all projects.
SELECT b.project_id, b.batch_id
FROM state_pmo_batches b
WHERE b.status = 'running' AND (b.project_id, b.batch_id) > ($1, $2)
ORDER BY b.project_id, b.batch_id
LIMIT $3
