-- What is known of an agent whose head is missing (WD-08).
CREATE OR REPLACE FUNCTION cw_read_lost(in_project text, in_agent text) RETURNS cw_lost
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found cw_lost;
BEGIN
    found.copy := cw_read_lost_copy(in_project, in_agent);
    found.turn_epoch := cw_read_lost_epoch(in_project, in_agent);
    found.open_turn := cw_read_lost_turn(in_project, in_agent);
    found.output_box_id := cw_read_lost_output_box(in_project, in_agent);
    found.queued := cw_read_lost_queued(in_project, in_agent);
    RETURN found;
END
$$;
