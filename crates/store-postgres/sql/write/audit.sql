-- Audit rows, in order.
CREATE OR REPLACE FUNCTION cw_audit(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
    SELECT in_project, r.actor, r.action, r.subject, r.verdict, r.detail, r.at
    FROM jsonb_to_recordset(in_rows) AS r (
        actor text, action text, subject text, verdict text, detail text, at bigint);
    RETURN true;
END
$$;
