SELECT t.turns
FROM state_pmo_trees t
WHERE t.project_id = $1 AND t.root_agent_turn_id = $2
