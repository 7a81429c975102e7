-- Where the last turn that ended wrote.
CREATE OR REPLACE FUNCTION cw_read_lost_output_box(in_project text, in_agent text) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT i.output_box_id
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_id = in_agent AND i.kind = 'turn' AND i.ended_at IS NOT NULL
        ORDER BY i.seq DESC
        LIMIT 1);
END
$$;
