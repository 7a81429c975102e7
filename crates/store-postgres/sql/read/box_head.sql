SELECT b.box_id, b.generation, b.len, b.entries, b.depth, b.sealed, b.handover_hash, b.created_at, p.deletions
FROM card_boxes b
JOIN resource_projects p ON p.project_id = b.project_id
WHERE b.project_id = $1 AND b.box_id = $2
