SELECT h
FROM state_agent_state_head h
WHERE h.project_id = $1 AND h.agent_id > $2
ORDER BY h.agent_id
LIMIT $3
