-- Audit rows, in order.
CREATE OR REPLACE FUNCTION cw_audit(in_rows audit[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
    SELECT r.project_id, r.actor, r.action, r.subject, r.verdict, r.detail, r.at FROM unnest(in_rows) AS r;
    RETURN true;
END
$$;
