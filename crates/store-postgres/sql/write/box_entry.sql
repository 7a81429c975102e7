-- The entries of new boxes or generations, numbered from 0 in the order given.
CREATE OR REPLACE FUNCTION cw_box_entry(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, segment_box, segment_generation,
        segment_len, source, rule)
    SELECT in_project, b.box_id, b.generation, i.place - 1, i.card_id, i.segment_box, i.segment_generation,
        i.segment_len, i.source, i.rule
    FROM jsonb_to_recordset(in_rows) AS b (box_id uuid, generation bigint, items jsonb),
        ROWS FROM (jsonb_to_recordset(b.items) AS (
            card_id uuid, segment_box uuid, segment_generation bigint, segment_len bigint, source text, rule integer))
        WITH ORDINALITY AS i (card_id, segment_box, segment_generation, segment_len, source, rule, place);
    RETURN true;
END
$$;
