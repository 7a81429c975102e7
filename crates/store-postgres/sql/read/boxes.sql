-- Box heads.
CREATE OR REPLACE FUNCTION cw_read_boxes(in_project text, in_boxes uuid[]) RETURNS card_boxes[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT b FROM card_boxes b WHERE b.project_id = in_project AND b.box_id = ANY (in_boxes));
END
$$;
