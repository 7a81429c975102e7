-- Who has audit rows that are not sealed. From one realm to the next by the index: there are few of them, and there may be many rows
-- of each.
WITH RECURSIVE realms AS (
    (SELECT project_id FROM audit WHERE position IS NULL ORDER BY project_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT a.project_id
        FROM audit a
        WHERE a.position IS NULL AND a.project_id > realms.project_id
        ORDER BY a.project_id
        LIMIT 1)
    FROM realms
    WHERE realms.project_id IS NOT NULL
)
SELECT project_id
FROM realms
WHERE project_id IS NOT NULL
