SELECT position, event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id, trace_id
FROM events
WHERE project_id = $1 AND position > $2
    AND ($4::uuid IS NULL OR agent_turn_id = $4) AND ($5::uuid IS NULL OR batch_id = $5)
    AND ($6::text IS NULL OR trace_id = $6) AND ($7::text IS NULL OR agent_id = $7)
ORDER BY position
LIMIT $3
