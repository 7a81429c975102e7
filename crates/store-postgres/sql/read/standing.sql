-- How a batch stands, at one moment: no more branches are looked at than the answer has, or than are enough.
SELECT b,
    EXISTS (
        SELECT 1 FROM state_pmo_batch_tasks t WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status = 'pending')
    OR EXISTS (
        SELECT 1 FROM state_pmo_batch_tasks t WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status = 'dispatched'),
    EXISTS (
        SELECT 1
        FROM state_pmo_batch_tasks t
        WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status IN ('failed', 'canceled', 'timeout')),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM state_pmo_batch_tasks t
            WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status = 'success'
            LIMIT b.enough) AS found),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM state_pmo_batch_tasks t
            WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status = 'dispatched'
            LIMIT b.parallel) AS found),
    ARRAY(
        SELECT t
        FROM state_pmo_batch_tasks t
        WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status = 'pending'
            AND (t.next_attempt_at IS NULL OR t.next_attempt_at <= $3)
        ORDER BY t.task_index
        LIMIT $5),
    ARRAY(
        SELECT t
        FROM state_pmo_batch_tasks t
        WHERE t.project_id = $1 AND t.batch_id = $2 AND t.status = 'dispatched' AND t.turn_epoch IS NULL
            AND t.updated_at < $4
        ORDER BY t.task_index
        LIMIT $5)
FROM state_pmo_batches b
WHERE b.project_id = $1 AND b.batch_id = $2
