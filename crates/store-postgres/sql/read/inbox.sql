SELECT i
FROM state_agent_inbox i
WHERE i.project_id = $1 AND i.inbox_id <= $2
    AND ($4::text IS NULL OR i.trace_id = $4) AND ($5::text IS NULL OR i.correlation_id = $5)
    AND ($6::text IS NULL OR i.status = $6) AND (NOT $7 OR i.kind = 'turn')
    AND ($8::bigint IS NULL OR i.created_at >= $8) AND ($9::bigint IS NULL OR i.created_at < $9)
ORDER BY i.inbox_id DESC
LIMIT $3
