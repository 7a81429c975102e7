-- Boxes, locked before, are at these generations, not sealed, and show so many cards.
CREATE OR REPLACE FUNCTION cw_open_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(in_rows) AS r (box_id uuid, generation bigint, min_len bigint, max_len bigint)
        WHERE NOT EXISTS (
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
