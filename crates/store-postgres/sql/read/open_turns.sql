-- How many turns of a project are open, counted up to a limit. Those that wait behind others have an index of their own.
SELECT count(*)
FROM (
    SELECT 1
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.kind = 'turn' AND i.status IN ('pending', 'processing', 'deferred')
    UNION ALL
    SELECT 1
    FROM state_agent_inbox i
    WHERE i.project_id COLLATE "POSIX" = $1
        AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) IS NOT NULL
    LIMIT $2
) AS open
