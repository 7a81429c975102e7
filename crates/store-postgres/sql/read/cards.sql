SELECT card_id, kind, role, author_id, content, content_hash, fact_hash, tokens, tool_calls, tool_call_id, metadata,
       origin, credential, ttl_seconds, expires_at, deleted_at, created_at
FROM cards
WHERE project_id = $1 AND card_id = ANY ($2)
