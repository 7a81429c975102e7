-- What stands at these places, looked up one by one: each with its number among them, from 1.
SELECT wanted.place, p.card_id, p.content_hash
FROM unnest($4::text[], $5::bigint[]) WITH ORDINALITY AS wanted (source, part, place)
CROSS JOIN LATERAL (
    SELECT * FROM resource_passages p
    WHERE p.project_id = $1 AND p.kind = $2 AND p.namespace = $3 AND p.source = wanted.source AND p.part = wanted.part
    OFFSET 0
) AS p
ORDER BY wanted.place
