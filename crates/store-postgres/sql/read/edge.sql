-- The edge of a correlation.
SELECT e
FROM state_execution_edges e
WHERE e.project_id COLLATE "POSIX" = {tenant} AND e.correlation_id = {correlation} AND e.primitive = {primitive}
    AND e.edge_phase = {phase} AND e.scope = '00000000-0000-0000-0000-000000000000'
