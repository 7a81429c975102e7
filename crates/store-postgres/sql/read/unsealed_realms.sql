SELECT DISTINCT project_id
FROM audit
WHERE position IS NULL
