-- As source or target, each edge once.
SELECT e
FROM (
    SELECT * FROM state_identity_edges WHERE project_id = $1 AND source_agent_id = $7
    UNION ALL
    SELECT *
    FROM state_identity_edges
    WHERE project_id = $1 AND target_agent_id = $7 AND source_agent_id IS DISTINCT FROM $7
) AS e
WHERE e.edge_id <= $2
    AND ($4::text IS NULL OR e.trace_id = $4)
    AND ($5::bigint IS NULL OR e.created_at >= $5) AND ($6::bigint IS NULL OR e.created_at < $6)
ORDER BY e.edge_id DESC
LIMIT $3
