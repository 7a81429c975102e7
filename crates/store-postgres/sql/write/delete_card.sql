-- Marks live cards deleted. Naming a card twice is a conflict, as is one that is gone.
CREATE OR REPLACE FUNCTION cw_delete_card(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT r.card_id, r.at FROM jsonb_to_recordset(in_rows) AS r (card_id uuid, at bigint) LOOP
        UPDATE cards
        SET deleted_at = item.at
        WHERE project_id = in_project AND card_id = item.card_id AND deleted_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'card';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
