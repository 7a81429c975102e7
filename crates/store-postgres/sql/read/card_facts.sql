SELECT card_id, fact_hash, deleted_at, expires_at
FROM cards
WHERE project_id = $1 AND card_id = ANY ($2)
