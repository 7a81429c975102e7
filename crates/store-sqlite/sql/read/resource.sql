SELECT kind, name, card_id, revision, created_at, updated_at, deleted_at
FROM resource_documents
WHERE project_id = ?1 AND kind = ?2 AND name = ?3
