SELECT coalesce(max(position), 0)
FROM events
WHERE project_id = ?1
