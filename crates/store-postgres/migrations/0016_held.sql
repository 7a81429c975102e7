-- What a worker that comes up again has in its hands is found without looking at what others have (F-27).
CREATE INDEX state_agent_inbox_held ON state_agent_inbox (worker_target, worker_id, seq) WHERE status = 'processing';
