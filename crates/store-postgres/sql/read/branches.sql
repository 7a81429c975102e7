SELECT t
FROM state_pmo_batch_tasks t
WHERE t.project_id = $1 AND t.batch_id = $2 AND t.task_index >= $3
ORDER BY t.task_index
LIMIT $4
