-- Rows that a worker may have in its hands: turns that are not suspended, and the answers that let suspended ones go on.
SELECT seq, project_id, agent_turn_id, turn_epoch
FROM state_agent_inbox AS i INDEXED BY state_agent_inbox_held
WHERE worker_target = ?1 AND worker_id = ?2 AND status = 'processing' AND seq > ?3
  AND CASE WHEN ?4 IS NULL
      THEN NOT EXISTS (SELECT 1 FROM resource_projects AS p WHERE p.project_id = i.project_id AND p.deleted_at IS NOT NULL)
      ELSE project_id IN (SELECT value FROM json_each(?4)) END
  AND (kind <> 'turn' OR NOT EXISTS (
      SELECT 1 FROM state_agent_state_head AS h
      WHERE h.project_id = i.project_id AND h.agent_id = i.agent_id AND h.status = 'suspended'))
ORDER BY seq
LIMIT ?5
