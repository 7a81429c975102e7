-- Places of audit rows in the chain. Rows are taken one by one, in order: two sealers never wait for each other (the loser
-- finds them sealed), and whatever the planner believes about a table that was empty a moment ago, each is found by its key.
CREATE OR REPLACE FUNCTION cw_seal_audit(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    FOR r IN
        SELECT s.seq, s.position, s.hash
        FROM jsonb_to_recordset(in_rows) AS s (seq bigint, position bigint, hash text)
        ORDER BY s.seq
    LOOP
        UPDATE audit a
        SET position = r.position, hash = decode(r.hash, 'hex')
        WHERE a.project_id = in_project AND a.seq = r.seq AND a.position IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
