SELECT turns
FROM state_pmo_trees
WHERE project_id = ?1 AND root_agent_turn_id = ?2
