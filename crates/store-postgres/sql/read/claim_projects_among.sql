-- Where the oldest claimable rows of some projects ($5) are.
SELECT oldest.project_id, oldest.seq
FROM unnest($5::text[]) AS wanted (project_id)
CROSS JOIN LATERAL (
    SELECT i.project_id, i.seq
    FROM state_agent_inbox i
    WHERE i.project_id = wanted.project_id AND i.worker_target = $1 AND i.status IN ('pending', 'deferred')
        AND (i.status = 'pending' OR i.next_retry_at <= $2) AND i.seq > $3
    ORDER BY i.seq
    LIMIT $4
) AS oldest
ORDER BY oldest.seq
LIMIT $4
