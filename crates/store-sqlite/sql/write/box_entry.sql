INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, segment_box, segment_generation, segment_len, source, rule)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
