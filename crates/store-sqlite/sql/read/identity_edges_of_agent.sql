SELECT edge_id, action, source_agent_id, target_agent_id, channel_id, trace_id, metadata, created_at,
       parent_step_id
FROM state_identity_edges INDEXED BY state_identity_edges_by_source
WHERE project_id = ?1 AND source_agent_id = ?2 AND edge_id < ?3
  AND (?5 IS NULL OR trace_id = ?5) AND (?6 IS NULL OR created_at >= ?6) AND (?7 IS NULL OR created_at < ?7)
UNION ALL
SELECT edge_id, action, source_agent_id, target_agent_id, channel_id, trace_id, metadata, created_at,
       parent_step_id
FROM state_identity_edges INDEXED BY state_identity_edges_by_target
WHERE project_id = ?1 AND target_agent_id = ?2 AND source_agent_id IS NOT ?2 AND edge_id < ?3
  AND (?5 IS NULL OR trace_id = ?5) AND (?6 IS NULL OR created_at >= ?6) AND (?7 IS NULL OR created_at < ?7)
ORDER BY edge_id DESC
LIMIT ?4
