SELECT t.task_index, t.agent_turn_id
FROM state_pmo_batch_tasks t
WHERE t.project_id = ?1 AND t.batch_id = ?2 AND t.task_index >= ?3
  AND EXISTS (
        SELECT 1 FROM state_agent_inbox
        WHERE project_id = ?1 AND agent_turn_id = t.agent_turn_id AND is_turn = 1
          AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred'))
ORDER BY t.task_index
LIMIT ?4
