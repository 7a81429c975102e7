-- The head of an agent.
SELECT h FROM state_agent_state_head h WHERE h.project_id = {tenant} AND h.agent_id = {agent}
