UPDATE card_boxes
SET len = len + ?4, entries = entries + ?4
WHERE project_id = ?1 AND box_id = ?2 AND generation = ?3 AND sealed = 0
