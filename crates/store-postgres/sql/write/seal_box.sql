-- No more changes to these boxes.
CREATE OR REPLACE FUNCTION cw_seal_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    found_rows bigint;
BEGIN
    UPDATE card_boxes b
    SET sealed = true
    FROM jsonb_to_recordset(in_rows) AS r (box_id uuid)
    WHERE b.project_id = in_project AND b.box_id = r.box_id;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
    END IF;
    RETURN true;
END
$$;
