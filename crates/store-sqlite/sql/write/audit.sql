INSERT INTO audit (project_id, seq, actor, action, subject, verdict, detail, at)
VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM audit WHERE project_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7)
