-- The cards of a box, plainly: what reading it costs at least. Both databases take this text as it is.
SELECT e.seq, c.project_id, c.card_id, c.kind, c.role, c.author_id, c.content, c.content_hash, c.fact_hash, c.tokens,
       c.tool_calls, c.tool_call_id, c.metadata, c.origin, c.credential, c.ttl_seconds, c.expires_at, c.deleted_at,
       c.created_at
FROM box_entries e
JOIN cards c ON c.project_id = e.project_id AND c.card_id = e.card_id
WHERE e.project_id = $1 AND e.box_id = $2 AND e.generation = 1
ORDER BY e.seq
