SELECT card_id, segment_box, segment_generation, segment_len, source, rule, box_id, generation, seq, place
FROM (
    SELECT card_id, segment_box, segment_generation, segment_len, source, rule, box_id, generation, seq,
           row_number() OVER (ORDER BY box_id, generation, seq) AS place
    FROM box_entries
    WHERE project_id = ?1 AND (box_id, generation, seq) > (?3, ?4, ?5)
    ORDER BY box_id, generation, seq
    LIMIT ?6
)
WHERE card_id = ?2 OR segment_box IS NOT NULL OR place = ?6
ORDER BY place
