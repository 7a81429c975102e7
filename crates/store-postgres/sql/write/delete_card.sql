-- Marks live cards deleted. Naming a card twice is a conflict, as is one that is gone.
CREATE OR REPLACE FUNCTION cw_delete_card(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    found_rows bigint;
BEGIN
    UPDATE cards c
    SET deleted_at = r.at
    FROM jsonb_to_recordset(in_rows) AS r (card_id uuid, at bigint)
    WHERE c.project_id = in_project AND c.card_id = r.card_id AND c.deleted_at IS NULL;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'card';
    END IF;
    RETURN true;
END
$$;
