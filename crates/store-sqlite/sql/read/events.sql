SELECT position, event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id, trace_id
FROM events
WHERE project_id = ?1 AND position > ?2 AND (?3 IS NULL OR agent_id = ?3) AND (?4 IS NULL OR agent_turn_id = ?4)
  AND (?5 IS NULL OR batch_id = ?5) AND (?6 IS NULL OR trace_id = ?6)
ORDER BY position
LIMIT ?7
