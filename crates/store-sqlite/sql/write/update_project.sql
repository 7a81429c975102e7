UPDATE resource_projects
SET title = ?2, settings = ?3, revision = ?4, updated_at = ?5, deleted_at = ?6
WHERE project_id = ?1
