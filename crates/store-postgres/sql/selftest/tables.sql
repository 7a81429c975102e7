-- Tenant tables on which row-level security is off, or not forced, or open to a role ($1) by another rule than the
-- tenant's ($2).
SELECT c.relname::text
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace
    AND c.relkind IN ('r', 'p')
    AND (
        NOT c.relrowsecurity
        OR NOT c.relforcerowsecurity
        OR NOT EXISTS (
            SELECT 1 FROM pg_policies p WHERE p.schemaname = 'public' AND p.tablename = c.relname
                AND p.roles && ARRAY[$1::name])
        OR EXISTS (
            SELECT 1 FROM pg_policies p WHERE p.schemaname = 'public' AND p.tablename = c.relname
                AND p.roles && ARRAY[$1::name, 'public'::name]
                AND (p.qual IS DISTINCT FROM $2 OR p.with_check IS DISTINCT FROM $2))
    )
ORDER BY c.relname
