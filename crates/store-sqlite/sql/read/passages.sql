SELECT kind, namespace, source, part, card_id, content_hash, terms, embedding, created_at
FROM resource_passages
WHERE project_id = ?1 AND kind = ?2 AND namespace = ?3 AND (source, part) > (?4, ?5)
ORDER BY source, part
LIMIT ?6
