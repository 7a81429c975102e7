INSERT INTO cards (project_id, card_id, kind, role, author_id, content, content_hash, fact_hash, tokens, tool_calls, tool_call_id, metadata,
       origin, credential, ttl_seconds, expires_at, deleted_at, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
