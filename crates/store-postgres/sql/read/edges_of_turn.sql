-- As source or target, each edge once.
SELECT e
FROM (
    SELECT * FROM state_execution_edges WHERE project_id = $1 AND source_agent_turn_id = $11
    UNION ALL
    SELECT *
    FROM state_execution_edges
    WHERE project_id = $1 AND target_agent_turn_id = $11 AND source_agent_turn_id IS DISTINCT FROM $11
) AS e
WHERE e.edge_id <= $2 AND ($10::text IS NULL OR e.source_agent_id = $10 OR e.target_agent_id = $10)
    AND ($4::text IS NULL OR e.trace_id = $4) AND ($5::text IS NULL OR e.correlation_id = $5)
    AND ($6::text IS NULL OR e.primitive = $6) AND ($7::text IS NULL OR e.edge_phase = $7)
    AND ($8::bigint IS NULL OR e.created_at >= $8) AND ($9::bigint IS NULL OR e.created_at < $9)
ORDER BY e.edge_id DESC
LIMIT $3
