-- Turns that wait are found by a condition that no other index has. While hardly any turn is open, an index of all open
-- turns is as cheap to the planner as one of those that wait, and what it has chosen lasts until it looks again.
DROP INDEX state_agent_inbox_queued;
CREATE INDEX state_agent_inbox_queued ON state_agent_inbox
    (project_id COLLATE "POSIX", (CASE WHEN kind = 'turn' AND status = 'queued' THEN agent_id END), seq)
    WHERE (CASE WHEN kind = 'turn' AND status = 'queued' THEN agent_id END) IS NOT NULL;
