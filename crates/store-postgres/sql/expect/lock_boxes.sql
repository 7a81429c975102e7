-- Locks the heads of boxes. Every existing box that a commit touches is named here when any of them is locked by
-- another statement than the append: the heads are locked in one order, and what is checked holds until the commit
-- ends.
CREATE OR REPLACE FUNCTION cw_lock_boxes(in_project text, in_boxes uuid[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1
    FROM card_boxes
    WHERE project_id = in_project AND box_id = ANY (in_boxes)
    ORDER BY box_id
    FOR UPDATE;
    RETURN true;
END
$$;
