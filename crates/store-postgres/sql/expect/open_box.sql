-- Boxes, locked before, are at these generations, not sealed, and show so many cards.
CREATE OR REPLACE FUNCTION cw_open_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_to_recordset(in_rows) AS r (box_id uuid, generation bigint, min_len bigint, max_len bigint)
    LOOP
        PERFORM 1
        FROM card_boxes
        WHERE project_id = in_project AND box_id = item.box_id AND generation = item.generation AND NOT sealed
            AND len BETWEEN item.min_len AND item.max_len;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
