SELECT last_position
FROM event_heads
WHERE project_id = $1
