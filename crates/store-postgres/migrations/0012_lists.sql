-- Inbox rows are listed by id, as edges and batches are: along the primary key, and along this index for those of an agent.
DROP INDEX state_agent_inbox_by_agent;
CREATE INDEX state_agent_inbox_by_agent ON state_agent_inbox (agent_id, project_id, inbox_id);

-- A page of all steps is read without looking at the others. No other index knows the project under this collation, so that
-- none looks as good to a plan that is made while there are hardly any steps.
CREATE INDEX state_agent_steps_by_time ON state_agent_steps (project_id COLLATE "POSIX", created_at, step_id);
