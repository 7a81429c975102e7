-- A new project.
CREATE OR REPLACE FUNCTION cw_create_project(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO resource_projects (project_id, title, settings, revision, deletions, created_at, updated_at, deleted_at)
    SELECT project_id, title, settings, revision, deletions, created_at, updated_at, deleted_at
    FROM jsonb_to_recordset(in_rows) AS r (
        project_id text, title text, settings text, revision bigint, deletions bigint,
        created_at bigint, updated_at bigint, deleted_at bigint);
    RETURN true;
END
$$;
