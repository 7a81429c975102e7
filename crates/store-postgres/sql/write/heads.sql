-- Writes to heads, each kind sorted by agent by the caller. Moves and nudges are different statements; when there are
-- both, all heads are locked first, in one order. Writes to one head are applied in their order, one round each;
-- there is almost always one round. `in_agents` are those whose heads are moved or nudged.
CREATE OR REPLACE FUNCTION cw_heads(
    in_project text, in_creates cw_head[], in_moves cw_head[], in_nudges cw_head[], in_agents text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    done boolean;
BEGIN
    IF in_creates IS NOT NULL THEN
        done := cw_create_head(in_project, in_creates);
    END IF;
    IF in_moves IS NOT NULL AND in_nudges IS NOT NULL THEN
        done := cw_lock_heads(in_project, in_agents);
    END IF;
    FOR round IN 0 .. coalesce(greatest(in_moves[cardinality(in_moves)].nth, in_nudges[cardinality(in_nudges)].nth), -1)
    LOOP
        IF in_moves IS NOT NULL THEN
            done := cw_move_head(in_project, in_moves, in_agents, round);
        END IF;
        IF in_nudges IS NOT NULL THEN
            done := cw_nudge_head(in_project, in_nudges, in_agents, round);
        END IF;
    END LOOP;
    RETURN true;
END
$$;
