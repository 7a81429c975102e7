-- Groups of events, in order. Called last: the sequence is drawn when every row lock of the commit is held, so that for
-- one box or agent the order of seq is the order of commits (see src/sequencer.rs).
CREATE OR REPLACE FUNCTION cw_event(in_groups events[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (project_id, item_count, items)
    SELECT project_id, item_count, items
    FROM unnest(in_groups);
    RETURN true;
END
$$;
