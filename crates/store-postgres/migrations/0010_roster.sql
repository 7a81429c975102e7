-- The roster is listed newest first (API-08).
CREATE INDEX resource_project_agents_by_time ON resource_project_agents (project_id, created_at, agent_id);
