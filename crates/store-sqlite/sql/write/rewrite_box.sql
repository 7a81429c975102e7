UPDATE card_boxes
SET generation = ?3, len = ?4, entries = ?5, depth = ?6
WHERE project_id = ?1 AND box_id = ?2
