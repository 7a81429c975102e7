SELECT edge_id, primitive, edge_phase, correlation_id, source_agent_id, source_agent_turn_id, target_agent_id,
       target_agent_turn_id, depth, trace_id, parent_step_id, inbox_id, request_hash, created_at
FROM state_execution_edges
WHERE project_id = ?1 AND edge_id < ?4
  AND (?6 IS NULL OR trace_id = ?6) AND (?7 IS NULL OR correlation_id = ?7) AND (?8 IS NULL OR primitive = ?8)
  AND (?9 IS NULL OR edge_phase = ?9) AND (?10 IS NULL OR created_at >= ?10) AND (?11 IS NULL OR created_at < ?11)
ORDER BY edge_id DESC
LIMIT ?5
