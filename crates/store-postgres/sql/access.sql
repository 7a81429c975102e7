-- Who may do what (SEC-04). Runs in the migration's transaction whenever anything of the schema changed, so that a
-- new table is closed before anybody can reach it. {app} and {system} are role names.

-- Every table with a project_id is closed, also to its owner, and open to the app for the current project only.
DO $closed$
DECLARE
    relation record;
BEGIN
    FOR relation IN
        SELECT c.oid, c.relname
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation.relname);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', relation.relname);
        EXECUTE format('DROP POLICY IF EXISTS tenant ON %I', relation.relname);
        EXECUTE format('DROP POLICY IF EXISTS background ON %I', relation.relname);
        EXECUTE format(
            'CREATE POLICY tenant ON %I TO {app}
                 USING (project_id = current_setting(''cardwire.project'', true))
                 WITH CHECK (project_id = current_setting(''cardwire.project'', true))',
            relation.relname);
        EXECUTE format('REVOKE ALL ON %I FROM PUBLIC, {app}, {system}', relation.relname);
    END LOOP;
END
$closed$;

GRANT USAGE ON SCHEMA public TO {app}, {system};

-- The app. What a fact is cannot be changed: only columns that may move are granted.
GRANT SELECT, INSERT ON resource_projects, cards, card_boxes, box_entries, tokens, answers, audit TO {app};
GRANT SELECT, INSERT ON events TO {app};
GRANT SELECT ON event_heads TO {app};
GRANT UPDATE (title, settings, revision, deletions, updated_at, deleted_at) ON resource_projects TO {app};
GRANT UPDATE (deleted_at) ON cards TO {app};
GRANT UPDATE (generation, len, entries, depth, sealed, handover_hash) ON card_boxes TO {app};
GRANT UPDATE (revoked_at) ON tokens TO {app};
GRANT UPDATE (position, hash) ON audit TO {app};

-- The background jobs, which work across projects: numbering, sealing, forgetting, and looking a token up.
CREATE POLICY background ON resource_projects FOR SELECT TO {system} USING (true);
CREATE POLICY background ON tokens FOR SELECT TO {system} USING (true);
CREATE POLICY background ON audit FOR SELECT TO {system} USING (true);
CREATE POLICY background ON answers TO {system} USING (true);
CREATE POLICY background ON events TO {system} USING (true);
CREATE POLICY background ON event_heads TO {system} USING (true) WITH CHECK (true);
GRANT SELECT ON resource_projects, tokens, audit, schema_migrations TO {system};
GRANT SELECT, DELETE ON answers TO {system};
GRANT SELECT, UPDATE (position) ON events TO {system};
GRANT SELECT, INSERT, UPDATE (last_position) ON event_heads TO {system};

-- Functions run with the caller's rights; only the app calls them.
DO $functions$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'cw\_%' ORDER BY oid
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {app}', routine);
    END LOOP;
END
$functions$;
