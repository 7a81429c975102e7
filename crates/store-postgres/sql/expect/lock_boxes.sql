-- Locks the heads of boxes, sorted by the caller. Every existing box that a commit touches is named here when any of
-- them is locked by another statement than the append: the heads are locked in one order, and what is checked holds
-- until the commit ends.
CREATE OR REPLACE FUNCTION cw_lock_boxes(in_project text, in_boxes uuid[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item uuid;
BEGIN
    FOREACH item IN ARRAY in_boxes LOOP
        PERFORM 1 FROM card_boxes WHERE project_id = in_project AND box_id = item FOR UPDATE;
    END LOOP;
    RETURN true;
END
$$;
