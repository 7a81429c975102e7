-- Gives the next positions of each project's log to committed groups of events that have none, in the order of seq.
-- Runs under the sequencer's lock, as a statement of its own after the lock was taken: see src/sequencer.rs. Nobody
-- else changes events, so a row is found again where it was.
WITH fresh AS MATERIALIZED (
    SELECT place_on_disk, project_id, item_count,
        sum(item_count) OVER (PARTITION BY project_id ORDER BY seq) AS items_until
    FROM (
        SELECT ctid AS place_on_disk, project_id, seq, item_count
        FROM events
        WHERE last_position IS NULL
        ORDER BY seq
        LIMIT $1
    ) AS unnumbered
),
counts AS (
    SELECT project_id, sum(item_count) AS added FROM fresh GROUP BY project_id
),
heads AS (
    INSERT INTO event_heads AS h (project_id, last_position)
    SELECT project_id, added FROM counts
    ON CONFLICT (project_id) DO UPDATE SET last_position = h.last_position + excluded.last_position
    RETURNING project_id, last_position
),
numbered AS (
    UPDATE events e
    SET last_position = heads.last_position - counts.added + fresh.items_until
    FROM fresh
    JOIN counts ON counts.project_id = fresh.project_id
    JOIN heads ON heads.project_id = fresh.project_id
    WHERE e.ctid = fresh.place_on_disk
    RETURNING fresh.item_count
)
SELECT count(*), coalesce(sum(item_count), 0)::bigint
FROM numbered
