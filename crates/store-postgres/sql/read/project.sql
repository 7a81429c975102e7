-- The project itself.
SELECT p FROM resource_projects p WHERE p.project_id = {tenant}
