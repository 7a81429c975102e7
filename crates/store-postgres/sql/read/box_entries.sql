SELECT card_id, segment_box, segment_generation, segment_len, source, rule
FROM box_entries
WHERE project_id = $1 AND box_id = $2 AND generation = $3 AND seq >= $4
ORDER BY seq
