-- Rows that a worker may have in its hands: turns that are not suspended, and the answers that let suspended ones go on.
-- Heads are looked up one by one: a join would be planned for the few there are when it is first used.
SELECT i.seq, i.project_id, i.agent_turn_id, i.turn_epoch
FROM state_agent_inbox i
WHERE i.worker_target = $1 AND i.worker_id = $2 AND i.status = 'processing' AND i.seq > $3
    AND CASE WHEN $4::text[] IS NULL
        THEN (SELECT p.deleted_at FROM resource_projects p WHERE p.project_id = i.project_id) IS NULL
        ELSE i.project_id = ANY ($4) END
    AND (i.kind <> 'turn' OR (
        SELECT h.status
        FROM state_agent_state_head h
        WHERE h.project_id = i.project_id AND h.agent_id = i.agent_id) IS DISTINCT FROM 'suspended')
ORDER BY i.seq
LIMIT $5
