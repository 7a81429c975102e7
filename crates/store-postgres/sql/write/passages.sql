-- What a commit does to passages. What goes comes first: the caller has left out what a drop later in the commit takes.
CREATE OR REPLACE FUNCTION cw_passages(in_project text, in_passages cw_passage_writes) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    done boolean;
BEGIN
    done := cw_lock_shelves(in_project, in_passages.shelves);
    IF in_passages.dropped IS NOT NULL THEN
        done := cw_drop_passages(in_passages.dropped);
    END IF;
    IF in_passages.passages IS NOT NULL THEN
        done := cw_put_passage(in_passages.passages);
    END IF;
    RETURN true;
END
$$;
