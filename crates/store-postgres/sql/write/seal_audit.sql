-- Places of audit rows in the chain. Rows are locked in order first, so that two sealers never wait for each other;
-- the loser finds them sealed.
CREATE OR REPLACE FUNCTION cw_seal_audit(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    found_rows bigint;
BEGIN
    PERFORM 1
    FROM audit
    WHERE project_id = in_project
        AND seq = ANY (ARRAY(SELECT r.seq FROM jsonb_to_recordset(in_rows) AS r (seq bigint)))
    ORDER BY seq
    FOR UPDATE;
    UPDATE audit a
    SET position = r.position, hash = decode(r.hash, 'hex')
    FROM jsonb_to_recordset(in_rows) AS r (seq bigint, position bigint, hash text)
    WHERE a.project_id = in_project AND a.seq = r.seq AND a.position IS NULL;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
    END IF;
    RETURN true;
END
$$;
