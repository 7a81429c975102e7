-- What a commit does to batches, branches, sweeps, grants and budgets, kind by kind. Batches are changed last: ends that
-- came before in the commit still count, and those that came after were left out by the caller.
CREATE OR REPLACE FUNCTION cw_pmo(in_project text, in_pmo cw_pmo_writes) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    done boolean;
BEGIN
    IF in_pmo.locks IS NOT NULL THEN
        done := cw_lock_batches(in_project, in_pmo.locks);
    END IF;
    IF in_pmo.batches IS NOT NULL THEN
        done := cw_create_batch(in_pmo.batches);
    END IF;
    IF in_pmo.added IS NOT NULL THEN
        done := cw_add_branch(in_pmo.added);
    END IF;
    IF in_pmo.moved IS NOT NULL THEN
        done := cw_move_branch(in_pmo.moved);
    END IF;
    IF in_pmo.ended IS NOT NULL THEN
        done := cw_end_branch(in_pmo.ended);
    END IF;
    IF in_pmo.more IS NOT NULL THEN
        done := cw_branches(in_pmo.more);
    END IF;
    IF in_pmo.changes IS NOT NULL THEN
        done := cw_close_batch(in_pmo.changes);
    END IF;
    IF in_pmo.sweeps IS NOT NULL THEN
        done := cw_add_sweep(in_pmo.sweeps);
    END IF;
    IF in_pmo.done_sweeps IS NOT NULL THEN
        done := cw_end_sweep(in_pmo.done_sweeps);
    END IF;
    IF in_pmo.grants IS NOT NULL THEN
        done := cw_add_grant(in_pmo.grants);
    END IF;
    IF in_pmo.spends IS NOT NULL THEN
        done := cw_spend(in_project, in_pmo.spends);
    END IF;
    RETURN true;
END
$$;
