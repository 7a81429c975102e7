-- CROSS JOIN: first what the index finds, then the rows. `rank` is bm25, less is better.
SELECT p.source, p.part, p.card_id, p.content_hash, -found.rank
FROM resource_passage_terms AS found
CROSS JOIN resource_passages p ON p.passage_id = found.rowid
WHERE found.terms MATCH ?1 AND p.project_id = ?2 AND p.kind = ?3 AND p.namespace = ?4
ORDER BY found.rank, p.source, p.part
LIMIT ?5
