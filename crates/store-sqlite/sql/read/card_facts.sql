SELECT fact_hash, kind, tool_call_id, author_id, origin, deleted_at, expires_at
FROM cards
WHERE project_id = ?1 AND card_id = ?2
