INSERT INTO state_identity_edges (project_id, edge_id, action, source_agent_id, target_agent_id, channel_id,
       trace_id, metadata, created_at, parent_step_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
