-- Cards at the end of boxes, sorted by box by the caller so that writers lock heads in one order.
-- One statement per box: for a single box, the usual case, a join over all of them costs twice as much.
CREATE OR REPLACE FUNCTION cw_append_cards(in_project text, in_appends cw_append[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_append;
    added bigint;
    first_seq bigint;
BEGIN
    FOREACH item IN ARRAY in_appends LOOP
        added := cardinality(item.cards);
        UPDATE card_boxes
        SET len = len + added, entries = entries + added
        WHERE project_id = in_project AND box_id = item.box_id AND generation = item.generation AND NOT sealed
            AND len BETWEEN item.min_len AND item.max_len
        RETURNING entries - added INTO first_seq;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
        INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, source)
        SELECT in_project, item.box_id, item.generation, first_seq + place - 1, card_id, 'direct'
        FROM unnest(item.cards) WITH ORDINALITY AS c (card_id, place);
    END LOOP;
    RETURN true;
END
$$;
