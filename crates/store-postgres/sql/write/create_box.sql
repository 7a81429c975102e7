-- New boxes with their entries, in a later stage of a commit.
CREATE OR REPLACE FUNCTION cw_create_box(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO card_boxes (project_id, box_id, generation, len, entries, depth, sealed, handover_hash, created_at)
    SELECT in_project, box_id, generation, len, entries, depth, sealed, decode(handover_hash, 'hex'), created_at
    FROM jsonb_to_recordset(in_rows) AS r (
        box_id uuid, generation bigint, len bigint, entries bigint, depth integer, sealed boolean,
        handover_hash text, created_at bigint)
    ORDER BY box_id;
    RETURN cw_box_entry(in_project, in_rows);
END
$$;

-- New boxes, sorted by id by the caller, and their entries. The rows are rows of the tables themselves.
CREATE OR REPLACE FUNCTION cw_create_boxes(in_boxes card_boxes[], in_entries box_entries[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF in_boxes IS NOT NULL THEN
        INSERT INTO card_boxes SELECT * FROM unnest(in_boxes);
    END IF;
    IF in_entries IS NOT NULL THEN
        INSERT INTO box_entries SELECT * FROM unnest(in_entries);
    END IF;
    RETURN true;
END
$$;
