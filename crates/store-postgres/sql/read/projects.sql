SELECT project_id, title, settings, revision, deletions, created_at, updated_at, deleted_at
FROM resource_projects
WHERE project_id > $1
ORDER BY project_id
LIMIT $2
