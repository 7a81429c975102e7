-- Boxes are at these generations, not sealed, and show so many cards. Every existing box that the commit touches is
-- named here when any is, also those without an expectation (`generation` absent): the heads are locked in one
-- order, and what was checked holds until the commit ends.
CREATE OR REPLACE FUNCTION cw_open_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1
    FROM card_boxes
    WHERE project_id = in_project
        AND box_id = ANY (ARRAY(SELECT r.box_id FROM jsonb_to_recordset(in_rows) AS r (box_id uuid)))
    ORDER BY box_id
    FOR UPDATE;
    IF EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(in_rows) AS r (box_id uuid, generation bigint, min_len bigint, max_len bigint)
        WHERE r.generation IS NOT NULL AND NOT EXISTS (
            SELECT 1
            FROM card_boxes b
            WHERE b.project_id = in_project AND b.box_id = r.box_id AND b.generation = r.generation
                AND NOT b.sealed AND b.len BETWEEN r.min_len AND r.max_len))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
    END IF;
    RETURN true;
END
$$;
