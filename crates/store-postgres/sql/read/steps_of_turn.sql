-- A turn has few steps, and they are sorted: an index that has them in this order would be gone through to its end wherever
-- there are fewer than asked for. The sum is one that no index has.
SELECT s
FROM state_agent_steps s
WHERE s.project_id = $1 AND s.agent_turn_id = $11 AND (s.created_at + 0, s.step_id) < ($2, $3)
    AND ($10::text IS NULL OR s.agent_id = $10)
    AND ($5::text IS NULL OR s.trace_id = $5)
    AND ($6::bigint IS NULL OR s.created_at >= $6) AND ($7::bigint IS NULL OR s.created_at < $7)
    AND ($8::text IS NULL OR s.status = $8) AND ($9::text IS NULL OR s.phase = $9)
ORDER BY s.created_at + 0 DESC, s.step_id DESC
LIMIT $4
