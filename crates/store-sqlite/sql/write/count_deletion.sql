UPDATE resource_projects
SET deletions = deletions + 1
WHERE project_id = ?1
