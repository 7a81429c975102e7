-- Writes to heads other than a single move or a single creation, one by one in the order of the commit, sorted by agent
-- by the caller.
CREATE OR REPLACE FUNCTION cw_heads(in_project text, in_heads cw_head[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_head;
    done boolean;
BEGIN
    FOREACH item IN ARRAY in_heads LOOP
        IF item.op = 'move' THEN
            done := cw_move_head(ARRAY[item], 1);
        ELSIF item.op = 'stay' THEN
            done := cw_move_head(ARRAY[item], 0);
        ELSIF item.op = 'nudge' THEN
            done := cw_nudge_head(in_project, item);
        ELSE
            done := cw_create_head(ARRAY[item]);
        END IF;
    END LOOP;
    RETURN true;
END
$$;
