-- Which of these cards are entries of the box's current generation.
CREATE OR REPLACE FUNCTION cw_read_members(in_project text, in_box uuid, in_cards uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT e.card_id
        FROM card_boxes b
        JOIN box_entries e ON e.project_id = b.project_id AND e.box_id = b.box_id AND e.generation = b.generation
        WHERE b.project_id = in_project AND b.box_id = in_box AND e.card_id = ANY (in_cards));
END
$$;
