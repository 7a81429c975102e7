-- Rows written since the beginning: those that are there, and updates of those.
-- Every append of the benchmarks is a commit of its own, so a plain box counts the updates of its head in `entries`.
-- A group of events gets its place by an update.
SELECT ((SELECT count(*) FROM resource_projects) + (SELECT count(*) FROM cards) + (SELECT count(*) FROM card_boxes)
      + (SELECT count(*) FROM box_entries) + (SELECT count(*) FROM events) + (SELECT count(*) FROM audit)
      + (SELECT coalesce(sum(entries), 0) FROM card_boxes WHERE depth = 0)
      + (SELECT count(*) FROM events WHERE last_position IS NOT NULL)
      + (SELECT count(*) FROM audit WHERE position IS NOT NULL))::bigint
