INSERT INTO state_box_grants (project_id, agent_id, box_id, created_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT DO NOTHING
