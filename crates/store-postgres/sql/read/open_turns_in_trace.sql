-- The open turns of a trace, oldest first. Those that wait behind others have an index of their own.
SELECT open.item
FROM (
    SELECT i AS item
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.kind = 'turn' AND i.status IN ('pending', 'processing', 'deferred')
        AND i.trace_id = $2
    UNION ALL
    SELECT i AS item
    FROM state_agent_inbox i
    WHERE i.project_id COLLATE "POSIX" = $1
        AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) IS NOT NULL AND i.trace_id = $2
) AS open
ORDER BY (open.item).inbox_id
LIMIT $3
