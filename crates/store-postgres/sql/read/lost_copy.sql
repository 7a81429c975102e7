-- The copy of a head that is missing, as a head. How many turns wait is counted anew.
CREATE OR REPLACE FUNCTION cw_read_lost_copy(in_project text, in_agent text) RETURNS state_agent_state_head
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT (s.*, 0, false)::state_agent_state_head
        FROM state_snapshots s
        WHERE s.project_id = in_project AND s.agent_id = in_agent);
END
$$;
