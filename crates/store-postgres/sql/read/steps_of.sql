-- Looked up one by one: a list of ids would be planned for the few rows there are when it is first used.
SELECT s
FROM (SELECT DISTINCT unnest($2::uuid[]) AS agent_turn_id) AS turn
CROSS JOIN LATERAL (
    SELECT *
    FROM state_agent_steps s
    WHERE s.project_id = $1 AND s.agent_turn_id = turn.agent_turn_id
    OFFSET 0
) AS s
ORDER BY s.created_at, s.step_id
LIMIT $3
