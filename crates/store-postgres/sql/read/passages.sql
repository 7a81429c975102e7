SELECT p.kind, p.namespace, p.source, p.part, p.card_id, p.content_hash, p.terms, p.embedding, p.created_at
FROM resource_passages p
WHERE p.project_id = $1 AND p.kind = $2 AND p.namespace = $3 AND (p.source, p.part) > ($4, $5)
ORDER BY p.source, p.part
LIMIT $6
