SELECT sqlite_version(), (SELECT max(number) FROM schema_migrations),
       (SELECT count(*) FROM audit WHERE position IS NULL)
