UPDATE tokens
SET revoked_at = ?3
WHERE project_id = ?1 AND token_id = ?2 AND revoked_at IS NULL
