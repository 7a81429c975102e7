-- No more changes to these boxes, locked before.
CREATE OR REPLACE FUNCTION cw_seal_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT r.box_id FROM jsonb_to_recordset(in_rows) AS r (box_id uuid) LOOP
        UPDATE card_boxes SET sealed = true WHERE project_id = in_project AND box_id = item.box_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
