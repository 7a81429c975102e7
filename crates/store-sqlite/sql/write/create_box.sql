INSERT INTO card_boxes (project_id, box_id, generation, len, entries, depth, sealed, handover_hash, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
