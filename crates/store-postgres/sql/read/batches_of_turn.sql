SELECT b
FROM state_pmo_batches b
WHERE b.project_id = $1 AND b.parent_agent_turn_id = $9 AND b.batch_id <= $2
    AND ($4::text IS NULL OR b.parent_agent_id = $4) AND ($5::text IS NULL OR b.trace_id = $5)
    AND ($6::text IS NULL OR b.status = $6)
    AND ($7::bigint IS NULL OR b.created_at >= $7) AND ($8::bigint IS NULL OR b.created_at < $8)
ORDER BY b.batch_id DESC
LIMIT $3
