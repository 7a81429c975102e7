-- Cards are looked up one by one: a join would be planned for the few cards there are when it is first used.
SELECT e.card_id, e.segment_box, e.segment_generation, e.segment_len, e.source, e.rule,
       c.card_id, c.kind, c.role, c.author_id, c.content, c.content_hash, c.fact_hash, c.tokens, c.tool_calls,
       c.tool_call_id, c.metadata, c.origin, c.credential, c.ttl_seconds, c.expires_at, c.deleted_at, c.created_at
FROM box_entries e
LEFT JOIN LATERAL (
    SELECT * FROM cards c WHERE c.project_id = $1 AND c.card_id = e.card_id OFFSET 0
) AS c ON true
WHERE e.project_id = $1 AND e.box_id = $2 AND e.generation = $3 AND e.seq >= $4
ORDER BY e.seq
