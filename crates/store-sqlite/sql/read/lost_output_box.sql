SELECT output_box_id
FROM state_agent_inbox INDEXED BY state_agent_inbox_by_agent
WHERE project_id = ?1 AND agent_id = ?2 AND kind = 'turn' AND ended_at IS NOT NULL
ORDER BY seq DESC
LIMIT 1
