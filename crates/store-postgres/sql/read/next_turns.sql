-- The turns that wait for an agent, oldest first.
SELECT i
FROM state_agent_inbox i
WHERE i.project_id COLLATE "POSIX" = {tenant}
    AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) = {agent}
ORDER BY i.seq
LIMIT {limit}
