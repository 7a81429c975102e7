-- The project's row is at these revisions. The lock holds the answer until the commit ends: a shared one, so that
-- commits which only rely on the row do not queue, unless this commit is going to change it.
CREATE OR REPLACE FUNCTION cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF in_changes THEN
        PERFORM 1 FROM resource_projects WHERE project_id = in_project FOR UPDATE;
    ELSE
        PERFORM 1 FROM resource_projects WHERE project_id = in_project FOR SHARE;
    END IF;
    IF NOT FOUND OR EXISTS (
        SELECT 1
        FROM jsonb_array_elements(in_revisions) AS r (revision), resource_projects p
        WHERE p.project_id = in_project AND p.revision <> r.revision::bigint)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'project';
    END IF;
    RETURN true;
END
$$;
