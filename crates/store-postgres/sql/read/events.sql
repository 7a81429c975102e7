SELECT position, event_id, kind, target, channel, agent_id, data, at
FROM events
WHERE project_id = $1 AND position > $2 AND ($3::text IS NULL OR agent_id = $3)
ORDER BY position
LIMIT $4
