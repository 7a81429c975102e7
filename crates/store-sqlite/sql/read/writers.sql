SELECT agent_id
FROM state_agent_inbox INDEXED BY state_agent_inbox_writers
WHERE project_id = ?1 AND output_box_id = ?2
  AND kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred')
