-- Rows inserted and updated so far in this database, without those of the raw limit. Servers tell of them late: a
-- connection that has fallen idle does so within ten seconds.
SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::bigint FROM pg_stat_user_tables WHERE relname <> 'raw_commits'
