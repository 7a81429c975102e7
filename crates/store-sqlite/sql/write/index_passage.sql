INSERT OR REPLACE INTO resource_passage_terms (rowid, terms)
SELECT passage_id, ?6
FROM resource_passages
WHERE project_id = ?1 AND kind = ?2 AND namespace = ?3 AND source = ?4 AND part = ?5
