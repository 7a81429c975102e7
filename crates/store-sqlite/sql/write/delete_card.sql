UPDATE cards
SET deleted_at = ?3
WHERE project_id = ?1 AND card_id = ?2 AND deleted_at IS NULL
