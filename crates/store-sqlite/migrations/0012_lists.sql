-- Inbox rows are listed by id, as edges and batches are: along this index for those of an agent.
DROP INDEX state_agent_inbox_by_agent;
CREATE INDEX state_agent_inbox_by_agent ON state_agent_inbox (project_id, agent_id, inbox_id);

-- A page of all steps is read without looking at the others.
CREATE INDEX state_agent_steps_by_time ON state_agent_steps (project_id, created_at, step_id);
