-- The row of a turn.
SELECT i
FROM state_agent_inbox i
WHERE i.project_id COLLATE "POSIX" = {tenant} AND i.agent_turn_id = {turn} AND i.kind = 'turn'
