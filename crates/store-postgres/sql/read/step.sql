-- A step.
SELECT s FROM state_agent_steps s WHERE s.project_id = {tenant} AND s.step_id = {step}
