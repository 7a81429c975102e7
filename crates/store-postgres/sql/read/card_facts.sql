-- What a decision needs to know of cards.
CREATE OR REPLACE FUNCTION cw_read_card_facts(in_project text, in_cards uuid[]) RETURNS cw_card_fact[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT (c.card_id, c.fact_hash, c.kind, c.tool_call_id, c.author_id, c.deleted_at, c.expires_at)::cw_card_fact
        FROM cards c
        WHERE c.project_id = in_project AND c.card_id = ANY (in_cards));
END
$$;
