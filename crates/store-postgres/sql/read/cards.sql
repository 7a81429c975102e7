-- Looked up one by one: a list of ids would be planned for the few cards there are when it is first used.
SELECT c.card_id, c.kind, c.role, c.author_id, c.content, c.content_hash, c.fact_hash, c.tokens, c.tool_calls,
       c.tool_call_id, c.metadata, c.origin, c.credential, c.ttl_seconds, c.expires_at, c.deleted_at, c.created_at
FROM (SELECT DISTINCT unnest($2::uuid[]) AS card_id) AS wanted
CROSS JOIN LATERAL (
    SELECT * FROM cards c WHERE c.project_id = $1 AND c.card_id = wanted.card_id OFFSET 0
) AS c
