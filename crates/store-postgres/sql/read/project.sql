-- A project, deleted or not.
CREATE OR REPLACE FUNCTION cw_read_project(in_project text) RETURNS resource_projects
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT p FROM resource_projects p WHERE p.project_id = in_project);
END
$$;
