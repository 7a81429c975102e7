-- New values for a project's row, one after the other. `deletions` is left alone.
CREATE OR REPLACE FUNCTION cw_update_project(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_to_recordset(in_rows) AS r (
            project_id text, title text, settings text, revision bigint, updated_at bigint, deleted_at bigint)
    LOOP
        UPDATE resource_projects
        SET title = item.title, settings = item.settings, revision = item.revision, updated_at = item.updated_at,
            deleted_at = item.deleted_at
        WHERE project_id = item.project_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'project';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
