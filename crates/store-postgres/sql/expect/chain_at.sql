-- The realm's audit chain ends here. Two sealers may both find it so; the unique index over positions lets one of them
-- through.
CREATE OR REPLACE FUNCTION cw_chain_at(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    head_position bigint;
    head_hash bytea;
BEGIN
    SELECT a.position, a.hash INTO head_position, head_hash
    FROM audit a
    WHERE a.project_id = in_project AND a.position IS NOT NULL
    ORDER BY a.position DESC
    LIMIT 1;
    IF NOT FOUND THEN
        head_position := 0;
        head_hash := decode(repeat('00', 32), 'hex');
    END IF;
    IF EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(in_rows) AS r (position bigint, hash text)
        WHERE r.position <> head_position OR decode(r.hash, 'hex') <> head_hash)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
    END IF;
    RETURN true;
END
$$;
