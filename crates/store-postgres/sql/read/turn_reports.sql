-- Open inbox rows for a turn other than its own.
CREATE OR REPLACE FUNCTION cw_read_turn_reports(in_project text, in_turn uuid) RETURNS state_agent_inbox[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT i
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_turn_id = in_turn AND i.kind <> 'turn'
            AND i.status IN ('queued', 'pending', 'processing', 'deferred')
        ORDER BY i.seq);
END
$$;
