-- Where the logs of some projects ($1) end, without those of deleted ones. Looked up one by one, whatever a plan would make
-- of the few there are when it is first used.
SELECT p.project_id, coalesce((SELECT h.last_position FROM event_heads h WHERE h.project_id = p.project_id), 0)
FROM unnest($1::text[]) AS wanted (project_id)
CROSS JOIN LATERAL (
    SELECT p.project_id
    FROM resource_projects p
    WHERE p.project_id = wanted.project_id AND p.deleted_at IS NULL
    LIMIT 1
) AS p
