-- Statements that the store's own roles have sent so far; what functions run inside is not counted.
-- The server forgets to count a prepared BEGIN, COMMIT or ROLLBACK after its first time (its cached plan loses its
-- number). So those are left out here, and two are added for every transaction that a store opens by hand: each names its
-- tenant or takes the sequencer's lock.
SELECT coalesce(sum(calls * CASE WHEN opens THEN 3 ELSE 1 END), 0)::bigint
FROM (
    SELECT calls, query ~ '^SELECT (set_config|pg_advisory_xact_lock)\(' AS opens
    FROM pg_stat_statements
    WHERE toplevel AND query !~* '^(BEGIN|START TRANSACTION|COMMIT|ROLLBACK)'
        AND userid IN (SELECT oid FROM pg_roles WHERE rolname LIKE 'cardwire\_%')
) AS sent
