-- Holds batches, sorted by the caller, whose branches are about to change: whoever closes a batch waits until that is
-- done, and the statements that follow see whether somebody has closed it before. A batch that this commit changes as
-- well is held for itself at once: raising a shared lock later would let two closers wait for each other.
CREATE OR REPLACE FUNCTION cw_lock_batches(in_project text, in_locks cw_batch_lock[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_batch_lock;
BEGIN
    FOREACH item IN ARRAY in_locks LOOP
        IF item.exclusive THEN
            PERFORM 1
            FROM state_pmo_batches
            WHERE project_id = in_project AND batch_id = item.batch_id
            FOR NO KEY UPDATE;
        ELSE
            PERFORM 1 FROM state_pmo_batches WHERE project_id = in_project AND batch_id = item.batch_id FOR SHARE;
        END IF;
    END LOOP;
    RETURN true;
END
$$;
