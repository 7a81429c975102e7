DELETE FROM state_pmo_sweeps
WHERE project_id = ?1 AND scope = ?2 AND subject_id = ?3
