SELECT agent_id, profile_name, profile_box_id, worker_target, display_name, tags, owner_agent_id, metadata, revision,
       created_at, updated_at
FROM resource_project_agents
WHERE project_id = ?1 AND agent_id = ?2
