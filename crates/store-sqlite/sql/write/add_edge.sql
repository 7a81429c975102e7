INSERT INTO state_execution_edges (project_id, edge_id, primitive, edge_phase, correlation_id, source_agent_id,
       source_agent_turn_id, target_agent_id, target_agent_turn_id, depth, trace_id, parent_step_id, inbox_id,
       request_hash, created_at, scope)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
