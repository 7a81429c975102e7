SELECT a.agent_id, a.profile_name, a.profile_box_id, a.worker_target, a.display_name, a.tags, a.owner_agent_id,
       a.metadata, a.revision, a.created_at, a.updated_at
FROM resource_project_agents a INDEXED BY resource_project_agents_by_time
LEFT JOIN state_agent_state_head h ON h.project_id = a.project_id AND h.agent_id = a.agent_id
WHERE a.project_id = ?1 AND (a.created_at, a.agent_id) < (?2, ?3)
  AND (?4 IS NULL OR coalesce(h.status, 'idle') = ?4)
  AND (?6 IS NULL OR h.active_agent_turn_id = ?6) AND (?7 IS NULL OR h.trace_id = ?7)
  AND (?8 IS NULL OR coalesce(h.updated_at, a.created_at) >= ?8)
  AND (?9 IS NULL OR coalesce(h.updated_at, a.created_at) < ?9)
ORDER BY a.created_at DESC, a.agent_id DESC
LIMIT ?5
