SELECT depth
FROM state_agent_inbox
WHERE project_id = ?1 AND agent_turn_id = ?2 AND is_turn = 1
