-- Writes to branches that this commit has written before, one by one in its order, sorted by the caller.
CREATE OR REPLACE FUNCTION cw_branches(in_branches cw_branch[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_branch;
    done boolean;
BEGIN
    FOREACH item IN ARRAY in_branches LOOP
        IF item.op = 'end' THEN
            done := cw_end_branch(ARRAY[item]);
        ELSIF item.op = 'move' THEN
            done := cw_move_branch(ARRAY[item]);
        ELSE
            done := cw_add_branch(ARRAY[item]);
        END IF;
    END LOOP;
    RETURN true;
END
$$;
