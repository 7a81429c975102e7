-- Inbox rows at the horizon, over all projects, with the heads of their agents.
SELECT i.project_id, h, i, i.inbox_id
FROM state_agent_inbox i
LEFT JOIN state_agent_state_head h ON h.project_id = i.project_id AND h.agent_id = i.agent_id
WHERE i.status IN ('pending', 'processing', 'deferred') AND (i.project_id, i.inbox_id) > ($1, $2)
    AND CASE i.status
        WHEN 'pending' THEN i.created_at <= $3
        WHEN 'deferred' THEN i.next_retry_at <= $6
        ELSE i.processed_at <= CASE i.kind WHEN 'turn' THEN $4::bigint ELSE $7::bigint END
    END
ORDER BY i.project_id, i.inbox_id
LIMIT $5
