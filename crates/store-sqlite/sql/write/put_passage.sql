INSERT INTO resource_passages (project_id, kind, namespace, source, part, card_id, content_hash, terms, embedding,
                               created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (project_id, kind, namespace, source, part) DO UPDATE
SET card_id = ?6, content_hash = ?7, terms = ?8, embedding = ?9, created_at = ?10
