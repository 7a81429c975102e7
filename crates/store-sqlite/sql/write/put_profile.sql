INSERT INTO resource_profiles (project_id, profile_name, worker_target, profile_box_id, card_id, tags, revision,
       created_at, updated_at, deleted_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
WHERE ?11 IS NULL
   OR EXISTS (SELECT 1 FROM resource_profiles WHERE project_id = ?1 AND profile_name = ?2 AND revision = ?11)
ON CONFLICT (project_id, profile_name) DO UPDATE
SET worker_target = ?3, profile_box_id = ?4, card_id = ?5, tags = ?6, revision = ?7, created_at = ?8, updated_at = ?9,
    deleted_at = ?10
WHERE revision = ?11
