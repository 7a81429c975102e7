SELECT 1
FROM card_boxes
WHERE project_id = ?1 AND box_id = ?2 AND generation = ?3 AND sealed = 0 AND len BETWEEN ?4 AND ?5
