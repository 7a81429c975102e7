-- Places of audit rows in the chain, each once, in order: of two sealers one waits at the first row, and then finds it
-- sealed. What is sealed stands together, so that the rows between the first and the last are read once, whatever the
-- planner believes about a table that was empty a moment ago. The settings leave it one plan, both lists side by side: row
-- by row, as everything else is planned, would go through one list for each row of the other.
CREATE OR REPLACE FUNCTION cw_seal_audit(in_project text, in_rows audit[]) RETURNS boolean
LANGUAGE plpgsql SET enable_nestloop = off SET enable_mergejoin = on SET enable_seqscan = off AS $$
DECLARE
    first_seq bigint;
    last_seq bigint;
    sealed integer;
BEGIN
    SELECT min(r.seq), max(r.seq) INTO first_seq, last_seq FROM unnest(in_rows) AS r;
    UPDATE audit a
    SET position = s.position, hash = s.hash
    FROM (SELECT r.seq, r.position, r.hash FROM unnest(in_rows) AS r ORDER BY r.seq) AS s
    WHERE a.project_id = in_project AND a.seq = s.seq AND a.seq BETWEEN first_seq AND last_seq AND a.position IS NULL;
    GET DIAGNOSTICS sealed = ROW_COUNT;
    IF sealed <> cardinality(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
    END IF;
    RETURN true;
END
$$;
