SELECT i
FROM state_agent_inbox i
WHERE i.project_id = $1 AND i.inbox_id <= $2 AND i.kind = 'turn' AND i.parent_agent_turn_id IS NULL
ORDER BY i.inbox_id DESC
LIMIT $3
