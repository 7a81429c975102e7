-- Passages, new or in place of those that stand there: each place once, sorted by the caller.
CREATE OR REPLACE FUNCTION cw_put_passage(in_passages cw_passage[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO resource_passages (project_id, kind, namespace, source, part, card_id, content_hash, terms, embedding,
        created_at, lexemes)
    SELECT u.project_id, u.kind, u.namespace, u.source, u.part, u.card_id, u.content_hash, u.terms, u.embedding,
        u.created_at, u.lexemes::tsvector
    FROM unnest(in_passages) AS u
    ON CONFLICT (project_id, kind, namespace, source, part) DO UPDATE
    SET card_id = excluded.card_id, content_hash = excluded.content_hash, terms = excluded.terms,
        embedding = excluded.embedding, created_at = excluded.created_at, lexemes = excluded.lexemes;
    RETURN true;
END
$$;
