-- Looked up one by one: a list of ids would be planned for the few rows there are when it is first used.
SELECT i
FROM (SELECT DISTINCT unnest($2::uuid[]) AS agent_turn_id) AS sender
CROSS JOIN LATERAL (
    SELECT e.target_agent_turn_id
    FROM state_execution_edges e
    WHERE e.project_id = $1 AND e.source_agent_turn_id = sender.agent_turn_id AND e.primitive = 'enqueue'
        AND e.edge_phase = 'request'
    OFFSET 0
) AS edge
CROSS JOIN LATERAL (
    SELECT *
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.agent_turn_id = edge.target_agent_turn_id AND i.kind = 'turn'
    OFFSET 0
) AS i
ORDER BY i.inbox_id
LIMIT $3
