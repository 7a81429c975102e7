-- How many turns wait.
CREATE OR REPLACE FUNCTION cw_read_lost_queued(in_project text, in_agent text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT count(*)
        FROM state_agent_inbox i
        WHERE i.project_id COLLATE "POSIX" = in_project
            AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) = in_agent);
END
$$;
