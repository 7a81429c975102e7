INSERT INTO resource_documents (project_id, kind, name, card_id, revision, created_at, updated_at, deleted_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
WHERE ?9 IS NULL
   OR EXISTS (SELECT 1 FROM resource_documents WHERE project_id = ?1 AND kind = ?2 AND name = ?3 AND revision = ?9)
ON CONFLICT (project_id, kind, name) DO UPDATE
SET card_id = ?4, revision = ?5, created_at = ?6, updated_at = ?7, deleted_at = ?8
WHERE revision = ?9
