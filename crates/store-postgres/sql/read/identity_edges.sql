SELECT e
FROM state_identity_edges e
WHERE e.project_id = $1 AND e.edge_id <= $2
    AND ($4::text IS NULL OR e.trace_id = $4)
    AND ($5::bigint IS NULL OR e.created_at >= $5) AND ($6::bigint IS NULL OR e.created_at < $6)
ORDER BY e.edge_id DESC
LIMIT $3
