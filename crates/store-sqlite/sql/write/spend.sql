INSERT INTO state_pmo_trees (project_id, root_agent_turn_id, turns)
SELECT ?1, ?2, ?3
WHERE ?3 <= ?4
ON CONFLICT (project_id, root_agent_turn_id) DO UPDATE
SET turns = turns + ?3
WHERE turns + ?3 <= ?4
