SELECT a
FROM resource_project_agents a
WHERE a.project_id = $1 AND a.agent_id > $2
ORDER BY a.agent_id
LIMIT $3
