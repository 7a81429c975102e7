-- At most so many turns of the project are open; no more are counted than that takes to tell. Whoever expects this holds the
-- project's row until its commit ends, so that of those who open turns at the same moment each sees what the one before it
-- has opened. A statement of its own after the lock, for that reason.
CREATE OR REPLACE FUNCTION cw_open_turns(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    most bigint;
    open bigint;
BEGIN
    SELECT min(r.at_most::bigint) INTO most FROM jsonb_array_elements(in_rows) AS r (at_most);
    PERFORM 1 FROM resource_projects WHERE project_id = in_project FOR UPDATE;
    SELECT count(*) INTO open
    FROM (
        SELECT 1
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.kind = 'turn' AND i.status IN ('pending', 'processing', 'deferred')
        UNION ALL
        SELECT 1
        FROM state_agent_inbox i
        WHERE i.project_id COLLATE "POSIX" = in_project
            AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) IS NOT NULL
        LIMIT most + 1
    ) AS open_turns;
    IF open > most THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'open_turns';
    END IF;
    RETURN true;
END
$$;
