-- New generations: the head takes the new values, the old entries stay. The head keeps its seal, hash and birth.
CREATE OR REPLACE FUNCTION cw_rewrite_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    found_rows bigint;
BEGIN
    UPDATE card_boxes b
    SET generation = r.generation, len = r.len, entries = r.entries, depth = r.depth
    FROM jsonb_to_recordset(in_rows) AS r (
        box_id uuid, generation bigint, len bigint, entries bigint, depth integer)
    WHERE b.project_id = in_project AND b.box_id = r.box_id;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
    END IF;
    RETURN cw_box_entry(in_project, in_rows);
END
$$;
