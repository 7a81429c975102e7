SELECT s
FROM state_agent_steps s
WHERE s.project_id COLLATE "POSIX" = $1 AND (s.created_at, s.step_id) < ($2, $3)
    AND ($5::text IS NULL OR s.trace_id = $5)
    AND ($6::bigint IS NULL OR s.created_at >= $6) AND ($7::bigint IS NULL OR s.created_at < $7)
    AND ($8::text IS NULL OR s.status = $8) AND ($9::text IS NULL OR s.phase = $9)
ORDER BY s.created_at DESC, s.step_id DESC
LIMIT $4
