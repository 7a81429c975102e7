SELECT current_setting('server_version'),
       (SELECT max(number) FROM schema_migrations),
       (SELECT coalesce(sum(item_count), 0)::bigint FROM events WHERE last_position IS NULL),
       (SELECT count(*) FROM audit WHERE position IS NULL)
