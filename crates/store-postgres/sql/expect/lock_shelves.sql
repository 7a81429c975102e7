-- Whoever changes passages of a shelf does it alone, until the end of the transaction: a source that two replace at once
-- would end with some parts of each, because neither sees what the other has written when it drops. Sorted by the
-- caller. No row stands for a shelf, so the lock is on its name; the first number keeps other locks away.
CREATE OR REPLACE FUNCTION cw_lock_shelves(in_project text, in_shelves text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item text;
BEGIN
    FOREACH item IN ARRAY in_shelves LOOP
        PERFORM pg_advisory_xact_lock(808, hashtext(in_project || '/' || item));
    END LOOP;
    RETURN true;
END
$$;
