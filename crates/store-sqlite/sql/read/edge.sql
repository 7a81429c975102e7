SELECT edge_id, primitive, edge_phase, correlation_id, source_agent_id, source_agent_turn_id, target_agent_id,
       target_agent_turn_id, depth, trace_id, parent_step_id, inbox_id, request_hash, created_at
FROM state_execution_edges
WHERE project_id = ?1 AND correlation_id = ?2 AND scope = zeroblob(16) AND primitive = ?3 AND edge_phase = ?4
