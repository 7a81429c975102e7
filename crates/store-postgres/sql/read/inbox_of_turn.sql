-- The turn's own row and the reports to it are in different indexes.
SELECT i
FROM (
    SELECT * FROM state_agent_inbox WHERE project_id = $1 AND agent_turn_id = $11 AND kind = 'turn'
    UNION ALL
    SELECT * FROM state_agent_inbox WHERE project_id = $1 AND agent_turn_id = $11 AND kind <> 'turn'
) AS i
WHERE i.inbox_id <= $2 AND ($10::text IS NULL OR i.agent_id = $10)
    AND ($4::text IS NULL OR i.trace_id = $4) AND ($5::text IS NULL OR i.correlation_id = $5)
    AND ($6::text IS NULL OR i.status = $6) AND (NOT $7 OR i.kind = 'turn')
    AND ($8::bigint IS NULL OR i.created_at >= $8) AND ($9::bigint IS NULL OR i.created_at < $9)
ORDER BY i.inbox_id DESC
LIMIT $3
