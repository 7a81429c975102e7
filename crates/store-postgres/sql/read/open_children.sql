-- Open turns that a turn has started by itself.
SELECT i.agent_turn_id
FROM state_agent_inbox i
WHERE i.project_id = $1 AND i.parent_agent_turn_id = $2 AND i.agent_turn_id >= $3 AND i.kind = 'turn'
    AND i.status IN ('queued', 'pending', 'processing', 'deferred') AND i.batch_id IS NULL
ORDER BY i.agent_turn_id
LIMIT $4
