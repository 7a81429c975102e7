SELECT box_id, generation, len, entries, depth, sealed, handover_hash, created_at
FROM card_boxes
WHERE project_id = $1 AND box_id <= $2
ORDER BY box_id DESC
LIMIT $3
