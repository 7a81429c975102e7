-- Live heads at the horizon and idle ones with turns waiting, over all projects, with the row of the live turn.
SELECT h.project_id, h, i, h.agent_id
FROM state_agent_state_head h
LEFT JOIN state_agent_inbox i ON i.project_id = h.project_id AND i.inbox_id = h.inbox_id
WHERE h.busy AND (h.project_id, h.agent_id) > ($1, $2)
    AND CASE h.status
        WHEN 'dispatched' THEN h.dispatched_at <= $3
        WHEN 'running' THEN h.updated_at <= $4
        WHEN 'suspended' THEN h.resume_deadline <= $5
        ELSE true
    END
ORDER BY h.project_id, h.agent_id
LIMIT $6
