-- Where the logs of some projects (?1) end, without those of deleted ones.
SELECT p.project_id, coalesce((SELECT max(e.position) FROM events AS e WHERE e.project_id = p.project_id), 0)
FROM json_each(?1) CROSS JOIN resource_projects AS p ON p.project_id = json_each.value
WHERE p.deleted_at IS NULL
