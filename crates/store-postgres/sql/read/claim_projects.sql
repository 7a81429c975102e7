-- Where the oldest claimable rows are, over all projects.
SELECT project_id, seq
FROM state_agent_inbox
WHERE worker_target = $1 AND status IN ('pending', 'deferred') AND (status = 'pending' OR next_retry_at <= $2)
    AND seq > $3
ORDER BY seq
LIMIT $4
