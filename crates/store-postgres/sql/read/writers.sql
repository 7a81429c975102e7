-- Agents whose open turns write these boxes.
CREATE OR REPLACE FUNCTION cw_read_writers(in_project text, in_boxes uuid[]) RETURNS cw_output[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT (i.output_box_id, i.agent_id)::cw_output
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.output_box_id = ANY (in_boxes) AND i.kind = 'turn'
            AND i.status IN ('queued', 'pending', 'processing', 'deferred'));
END
$$;
