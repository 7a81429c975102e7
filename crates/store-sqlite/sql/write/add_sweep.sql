INSERT INTO state_pmo_sweeps (project_id, scope, subject_id)
VALUES (?1, ?2, ?3)
ON CONFLICT DO NOTHING
