SELECT project_id, scope, subject_id
FROM state_pmo_sweeps
WHERE (project_id, scope, subject_id) > (?1, ?2, ?3)
ORDER BY project_id, scope, subject_id
LIMIT ?4
