INSERT INTO resource_project_agents (project_id, agent_id, profile_name, profile_box_id, worker_target, display_name,
       tags, owner_agent_id, metadata, revision, created_at, updated_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
WHERE ?13 IS NULL
   OR EXISTS (SELECT 1 FROM resource_project_agents WHERE project_id = ?1 AND agent_id = ?2 AND revision = ?13)
ON CONFLICT (project_id, agent_id) DO UPDATE
SET profile_name = ?3, profile_box_id = ?4, worker_target = ?5, display_name = ?6, tags = ?7, owner_agent_id = ?8,
    metadata = ?9, revision = ?10, created_at = ?11, updated_at = ?12
WHERE revision = ?13
