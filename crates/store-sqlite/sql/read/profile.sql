SELECT profile_name, worker_target, profile_box_id, card_id, tags, revision, created_at, updated_at, deleted_at
FROM resource_profiles
WHERE project_id = ?1 AND profile_name = ?2
