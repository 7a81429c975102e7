SELECT 1
FROM box_entries
WHERE project_id = ?1 AND box_id = ?2 AND generation = ?3 AND card_id = ?4
