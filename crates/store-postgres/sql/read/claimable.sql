-- The oldest rows that a worker may claim, held until the transaction ends, with their agents' heads and, for reports,
-- the rows of their turns, held as well. Whatever somebody else holds is passed over: a row whose head or turn is
-- held is not given. Rows whose head is missing are looked for among the oldest only.
-- Heads and turns are looked up one by one: a join would be planned for the few there are when it is first used.
WITH held AS MATERIALIZED (
    SELECT i AS item, h.head
    FROM state_agent_inbox i
    CROSS JOIN LATERAL (
        SELECT h AS head
        FROM state_agent_state_head h
        WHERE h.project_id = $1 AND h.agent_id = i.agent_id
        FOR UPDATE SKIP LOCKED
    ) AS h
    WHERE i.project_id = $1 AND i.worker_target = $2 AND i.status IN ('pending', 'deferred')
        AND (i.status = 'pending' OR i.next_retry_at <= $3)
    ORDER BY i.seq
    LIMIT $4
    FOR UPDATE OF i SKIP LOCKED
),
oldest AS MATERIALIZED (
    SELECT i.inbox_id, i.agent_id
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.worker_target = $2 AND i.status IN ('pending', 'deferred')
        AND (i.status = 'pending' OR i.next_retry_at <= $3)
    ORDER BY i.seq
    LIMIT $4
),
headless AS MATERIALIZED (
    SELECT i.item, NULL::state_agent_state_head AS head
    FROM oldest o
    CROSS JOIN LATERAL (
        SELECT i AS item
        FROM state_agent_inbox i
        WHERE i.project_id = $1 AND i.inbox_id = o.inbox_id AND i.status IN ('pending', 'deferred')
        FOR UPDATE SKIP LOCKED
    ) AS i
    WHERE (
        SELECT h.agent_id FROM state_agent_state_head h WHERE h.project_id = $1 AND h.agent_id = o.agent_id) IS NULL
),
found AS MATERIALIZED (
    SELECT item, head FROM held UNION ALL SELECT item, head FROM headless
)
SELECT f.item, f.head, t.turn
FROM found f
LEFT JOIN LATERAL (
    SELECT t AS turn
    FROM state_agent_inbox t
    WHERE t.project_id = $1 AND t.agent_turn_id = (f.item).agent_turn_id AND t.kind = 'turn'
        AND (f.item).kind <> 'turn'
    FOR UPDATE SKIP LOCKED
) AS t ON true
WHERE (f.item).kind = 'turn' OR (t.turn).inbox_id IS NOT NULL OR (
    SELECT i.inbox_id
    FROM state_agent_inbox i
    WHERE i.project_id = $1 AND i.agent_turn_id = (f.item).agent_turn_id AND i.kind = 'turn') IS NULL
ORDER BY (f.item).seq
LIMIT $4
