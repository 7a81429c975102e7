SELECT d
FROM resource_documents d
WHERE d.project_id = $1 AND d.kind = $2 AND d.name > $3
ORDER BY d.name
LIMIT $4
