-- The head of each agent as it comes along: a join may be planned to begin with all heads.
SELECT a, h.head
FROM resource_project_agents a
LEFT JOIN LATERAL (
    SELECT s AS head, s.status, s.active_agent_turn_id, s.trace_id, s.updated_at
    FROM state_agent_state_head s
    WHERE s.project_id = a.project_id AND s.agent_id = a.agent_id
    OFFSET 0
) AS h ON true
WHERE a.project_id = $1 AND (a.created_at, a.agent_id) < ($2, $3)
    AND ($4::text IS NULL OR coalesce(h.status, 'idle') = $4)
    AND ($6::uuid IS NULL OR h.active_agent_turn_id = $6) AND ($7::text IS NULL OR h.trace_id = $7)
    AND ($8::bigint IS NULL OR coalesce(h.updated_at, a.created_at) >= $8)
    AND ($9::bigint IS NULL OR coalesce(h.updated_at, a.created_at) < $9)
ORDER BY a.created_at DESC, a.agent_id DESC
LIMIT $5
