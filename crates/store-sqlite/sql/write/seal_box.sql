UPDATE card_boxes
SET sealed = 1
WHERE project_id = ?1 AND box_id = ?2
