SELECT box_id
FROM state_box_grants
WHERE project_id = ?1 AND agent_id = ?2 AND box_id > ?3
ORDER BY box_id
LIMIT ?4
