-- The oldest rows that a worker may claim, held until the transaction ends, with their agents' heads and, for reports,
-- the rows of their turns, held as well. Whatever somebody else holds is passed over: a row whose head or turn is
-- held is not given. Rows whose head is missing are looked for among the oldest only.
WITH held AS MATERIALIZED (
    SELECT i AS item, h AS head
    FROM state_agent_inbox i
    JOIN state_agent_state_head h ON h.project_id = i.project_id AND h.agent_id = i.agent_id
    WHERE i.project_id = $1 AND i.worker_target = $2 AND i.status IN ('pending', 'deferred')
        AND (i.status = 'pending' OR i.next_retry_at <= $3)
    ORDER BY i.seq
    LIMIT $4
    FOR UPDATE OF i, h SKIP LOCKED
),
headless AS MATERIALIZED (
    SELECT i AS item, NULL::state_agent_state_head AS head
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.status IN ('pending', 'deferred')
        AND i.inbox_id = ANY (ARRAY(
            SELECT f.inbox_id
            FROM state_agent_inbox f
            WHERE f.project_id = $1 AND f.worker_target = $2 AND f.status IN ('pending', 'deferred')
                AND (f.status = 'pending' OR f.next_retry_at <= $3)
            ORDER BY f.seq
            LIMIT $4))
        AND NOT EXISTS (
            SELECT 1 FROM state_agent_state_head h WHERE h.project_id = i.project_id AND h.agent_id = i.agent_id)
    FOR UPDATE OF i SKIP LOCKED
),
found AS MATERIALIZED (
    SELECT item, head FROM held UNION ALL SELECT item, head FROM headless
),
turns AS MATERIALIZED (
    SELECT t AS turn
    FROM state_agent_inbox t
    WHERE t.project_id = $1 AND t.kind = 'turn'
        AND t.agent_turn_id = ANY (ARRAY(SELECT (item).agent_turn_id FROM found WHERE (item).kind <> 'turn'))
    FOR UPDATE OF t SKIP LOCKED
)
SELECT f.item, f.head, t.turn
FROM found f
LEFT JOIN turns t ON (f.item).kind <> 'turn' AND (t.turn).agent_turn_id = (f.item).agent_turn_id
WHERE (f.item).kind = 'turn' OR (t.turn).inbox_id IS NOT NULL OR NOT EXISTS (
    SELECT 1
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.agent_turn_id = (f.item).agent_turn_id AND i.kind = 'turn')
ORDER BY (f.item).seq
LIMIT $4
