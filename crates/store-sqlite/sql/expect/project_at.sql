SELECT 1
FROM resource_projects
WHERE project_id = ?1 AND revision = ?2
