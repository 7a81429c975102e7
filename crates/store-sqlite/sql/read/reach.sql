SELECT coalesce((SELECT max(position) FROM events WHERE project_id = ?1), 0),
       (SELECT event_id FROM events WHERE project_id = ?1 AND position <= ?2 ORDER BY position DESC LIMIT 1),
       coalesce((SELECT max(seq) FROM audit WHERE project_id = ?1), 0)
