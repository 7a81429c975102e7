SELECT agent_turn_id
FROM state_agent_inbox INDEXED BY state_agent_inbox_children
WHERE project_id = ?1 AND parent_agent_turn_id = ?2 AND agent_turn_id > ?3 AND batch_id IS NULL
  AND kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred')
ORDER BY agent_turn_id
LIMIT ?4
