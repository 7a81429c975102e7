SELECT current_setting('server_version'),
       (SELECT max(number) FROM schema_migrations),
       (SELECT count(*) FROM events WHERE position IS NULL),
       (SELECT count(*) FROM audit WHERE position IS NULL)
