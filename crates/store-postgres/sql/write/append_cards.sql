-- Cards at the end of boxes, sorted by box by the caller so that writers lock heads in one order. Heads are taken one
-- by one (a join over all of them costs twice as much for a single box, the usual case), entries all at once.
CREATE OR REPLACE FUNCTION cw_append_cards(in_project text, in_appends cw_append[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_append;
    added bigint;
    first_seq bigint;
    firsts bigint[];
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
        firsts := firsts || first_seq;
    END LOOP;
    INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, source)
    SELECT in_project, a.box_id, a.generation, firsts[a.number] + c.place - 1, c.card_id, 'direct'
    FROM unnest(in_appends) WITH ORDINALITY AS a (box_id, generation, min_len, max_len, cards, number),
        unnest(a.cards) WITH ORDINALITY AS c (card_id, place);
    RETURN true;
END
$$;
