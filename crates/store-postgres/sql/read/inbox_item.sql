-- An inbox row.
SELECT i FROM state_agent_inbox i WHERE i.project_id = {tenant} AND i.inbox_id = {inbox}
