-- What a decision needs to know of cards.
SELECT (c.card_id, c.fact_hash, c.kind, c.tool_call_id, c.author_id, c.deleted_at, c.expires_at, c.origin)::cw_card_fact
FROM unnest({cards}) AS wanted (card_id)
CROSS JOIN LATERAL (
    SELECT * FROM cards c WHERE c.project_id = {tenant} AND c.card_id = wanted.card_id OFFSET 0
) AS c
