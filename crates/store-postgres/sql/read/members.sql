SELECT e.card_id
FROM card_boxes b
JOIN box_entries e ON e.project_id = b.project_id AND e.box_id = b.box_id AND e.generation = b.generation
WHERE b.project_id = $1 AND b.box_id = $2 AND e.card_id = ANY ($3)
