-- How many turns wait.
CREATE OR REPLACE FUNCTION cw_read_lost_queued(in_project text, in_agent text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT count(*)
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_id = in_agent AND i.kind = 'turn' AND i.status = 'queued');
END
$$;
