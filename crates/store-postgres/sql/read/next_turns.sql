-- The turns that wait for an agent, oldest first.
SELECT i
FROM state_agent_inbox i
WHERE i.project_id = {tenant} AND i.agent_id = {agent} AND i.kind = 'turn' AND i.status = 'queued'
ORDER BY i.seq
LIMIT {limit}
