INSERT INTO resource_projects (project_id, title, settings, revision, deletions, created_at, updated_at, deleted_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
