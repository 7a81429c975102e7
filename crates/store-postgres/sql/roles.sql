-- The three roles (SEC-04). Roles belong to the whole cluster, so another database may be making them right now.
DO $roles$
DECLARE
    wanted text;
    -- Since PostgreSQL 16 who makes a role is a member of it that may not become it, until that is granted as well.
    needed text := CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['{owner}', '{app}', '{system}'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS', wanted);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
        BEGIN
            -- A superuser may become anybody; anybody else must be a member.
            IF NOT pg_has_role(session_user, wanted, needed) THEN
                EXECUTE format('GRANT %I TO %I', wanted, session_user);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
    IF NOT has_schema_privilege('{owner}', 'public', 'CREATE') THEN
        GRANT USAGE, CREATE ON SCHEMA public TO {owner};
    END IF;
END
$roles$;
