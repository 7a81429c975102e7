INSERT INTO events (project_id, position, event_id, kind, target, channel, agent_id, data, at, agent_turn_id,
       batch_id, trace_id)
VALUES (?1, (SELECT coalesce(max(position), 0) + 1 FROM events WHERE project_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8,
       ?9, ?10, ?11)
