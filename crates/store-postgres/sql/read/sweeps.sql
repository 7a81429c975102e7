-- Sweeps that are still to be done, over all projects.
SELECT s.project_id, s.scope, s.subject_id
FROM state_pmo_sweeps s
WHERE (s.project_id, s.scope, s.subject_id) > ($1, $2, $3)
ORDER BY s.project_id, s.scope, s.subject_id
LIMIT $4
