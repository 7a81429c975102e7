-- Where the oldest claimable rows are, over all projects that are not deleted.
SELECT i.project_id, i.seq
FROM state_agent_inbox i
WHERE i.worker_target = $1 AND i.status IN ('pending', 'deferred') AND (i.status = 'pending' OR i.next_retry_at <= $2)
    AND i.seq > $3
    AND (SELECT p.deleted_at FROM resource_projects p WHERE p.project_id = i.project_id) IS NULL
ORDER BY i.seq
LIMIT $4
