-- Where the passages stand that fit best. Asked by the system: under the rule of a tenant the server would look at every
-- row, because it trusts no operator of a full-text index (none is leakproof) to see rows before the rule has. What is
-- answered are places only; the tenant reads what stands there.
-- The shelf is compared under another collation than the indexes have, so that no plan starts from all rows of a shelf.
SELECT p.source, p.part, ts_rank(p.lexemes, wanted.lexemes)::float8 AS score
FROM (SELECT $4::text::tsquery AS lexemes OFFSET 0) AS wanted
JOIN resource_passages p ON p.lexemes @@ wanted.lexemes
WHERE p.project_id COLLATE "POSIX" = $1 AND p.kind COLLATE "POSIX" = $2 AND p.namespace COLLATE "POSIX" = $3
ORDER BY score DESC, p.source, p.part
LIMIT $5
