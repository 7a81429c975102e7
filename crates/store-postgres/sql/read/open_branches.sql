-- Branches of a batch whose turns are open. Turns are looked up one by one: a join would be planned for the few there
-- are when it is first used.
SELECT t.task_index, t.agent_turn_id
FROM state_pmo_batch_tasks t
WHERE t.project_id = $1 AND t.batch_id = $2 AND t.task_index >= $3
    AND (
        SELECT i.status IN ('queued', 'pending', 'processing', 'deferred')
        FROM state_agent_inbox i
        WHERE i.project_id = $1 AND i.agent_turn_id = t.agent_turn_id AND i.kind = 'turn')
ORDER BY t.task_index
LIMIT $4
