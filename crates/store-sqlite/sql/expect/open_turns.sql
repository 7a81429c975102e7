-- At most so many turns of a project are open; no more are counted than that takes to tell.
SELECT 1
WHERE (
  SELECT count(*)
  FROM (
    SELECT 1
    FROM state_agent_inbox INDEXED BY state_agent_inbox_writers
    WHERE project_id = ?1
      AND kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred')
    LIMIT ?2 + 1)) <= ?2
