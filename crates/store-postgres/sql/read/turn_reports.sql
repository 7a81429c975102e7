-- The open reports to a turn, oldest first.
SELECT i
FROM state_agent_inbox i
WHERE i.project_id COLLATE "POSIX" = {tenant} AND i.agent_turn_id = {turn} AND i.kind <> 'turn'
    AND i.status IN ('queued', 'pending', 'processing', 'deferred')
ORDER BY i.seq
