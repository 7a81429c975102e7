-- New generations of boxes, locked before: the head takes the new values, the old entries stay. The head keeps its
-- seal, hash and birth.
CREATE OR REPLACE FUNCTION cw_rewrite_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_to_recordset(in_rows) AS r (
            box_id uuid, generation bigint, len bigint, entries bigint, depth integer)
    LOOP
        UPDATE card_boxes
        SET generation = item.generation, len = item.len, entries = item.entries, depth = item.depth
        WHERE project_id = in_project AND box_id = item.box_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN cw_box_entry(in_project, in_rows);
END
$$;
