SELECT count(*)
FROM state_agent_inbox INDEXED BY state_agent_inbox_queued
WHERE project_id = ?1 AND agent_id = ?2 AND kind = 'turn' AND status = 'queued'
