-- Tries to cross from one project into another, inside a transaction that is rolled back. The names are no slugs, so
-- no real project has them. CW002 says what was possible.
DO $probe$
DECLARE
    card constant uuid := '00000000-0000-0000-0000-00000000c0de';
    seen bigint;
BEGIN
    PERFORM set_config('cardwire.project', '.selftest-a', true);
    INSERT INTO cards (project_id, card_id, kind, role, content, content_hash, fact_hash, tokens, metadata, origin,
        credential, created_at)
    VALUES ('.selftest-a', card, 'selftest', 'system', '""', '', '', 0, '{}', 'operator', false, 0);
    SELECT count(*) INTO seen FROM cards WHERE card_id = card;
    IF seen <> 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW002', MESSAGE = 'a project does not see its own card';
    END IF;

    PERFORM set_config('cardwire.project', '.selftest-b', true);
    SELECT count(*) INTO seen FROM cards WHERE project_id = '.selftest-a';
    IF seen <> 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW002', MESSAGE = 'a project sees another project''s card';
    END IF;
    UPDATE cards SET deleted_at = 1 WHERE project_id = '.selftest-a';
    GET DIAGNOSTICS seen = ROW_COUNT;
    IF seen <> 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW002', MESSAGE = 'a project changes another project''s card';
    END IF;
    BEGIN
        DELETE FROM cards WHERE project_id = '.selftest-a';
        GET DIAGNOSTICS seen = ROW_COUNT;
    EXCEPTION WHEN insufficient_privilege THEN
        seen := 0;
    END;
    IF seen <> 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW002', MESSAGE = 'a project deletes another project''s card';
    END IF;
    BEGIN
        INSERT INTO cards (project_id, card_id, kind, role, content, content_hash, fact_hash, tokens, metadata,
            origin, credential, created_at)
        VALUES ('.selftest-a', gen_random_uuid(), 'selftest', 'system', '""', '', '', 0, '{}', 'operator', false, 0);
        seen := 1;
    EXCEPTION WHEN insufficient_privilege THEN
        seen := 0;
    END;
    IF seen <> 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW002', MESSAGE = 'a project writes into another project';
    END IF;

    -- After a transaction that set it, the setting reads as empty; before, as null.
    PERFORM set_config('cardwire.project', '', true);
    SELECT count(*) INTO seen FROM (SELECT 1 FROM cards LIMIT 1) AS any_card;
    IF seen <> 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW002', MESSAGE = 'cards are visible when no project is set';
    END IF;
END
$probe$;
