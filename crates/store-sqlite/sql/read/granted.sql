SELECT 1
FROM state_box_grants
WHERE project_id = ?1 AND agent_id = ?2 AND box_id = ?3
