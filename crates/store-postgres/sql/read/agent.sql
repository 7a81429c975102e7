-- An agent of the roster.
SELECT a FROM resource_project_agents a WHERE a.project_id = {tenant} AND a.agent_id = {agent}
