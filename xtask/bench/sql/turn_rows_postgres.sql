-- The rows of one turn, written by plain statements in the two transactions that a turn is: for pgbench, with `turn` set
-- to 0 for its only client, in a database that was filled with {agents} agents. Each transaction is one round trip.
-- Nothing is decided here and nothing is read.
\set turn :turn + 1
\set agent :turn % {agents}
\startpipeline
BEGIN;
UPDATE state_agent_state_head
SET active_agent_turn_id = ('f1' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid,
    inbox_id = ('f2' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid,
    profile_box_id = '00000000-0000-0000-0000-000000000001', context_box_id = '00000000-0000-0000-0000-000000000002',
    output_box_id = ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, turn_epoch = turn_epoch + 1,
    output_watermark = 0, depth = 0, dispatched_at = 1800000000000000, channel_id = 'public', worker_target = 'bench',
    trace_id = 'bench', status = 'running', waiting_tool_count = 0, updated_at = 1800000000000000, busy = true
WHERE project_id = 'filled' AND agent_id = 'agent-' || lpad(:agent::text, 6, '0') AND status = 'idle';
UPDATE state_snapshots
SET active_agent_turn_id = ('f1' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid,
    inbox_id = ('f2' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid,
    profile_box_id = '00000000-0000-0000-0000-000000000001', context_box_id = '00000000-0000-0000-0000-000000000002',
    output_box_id = ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, turn_epoch = turn_epoch + 1,
    output_watermark = 0, depth = 0, dispatched_at = 1800000000000000, channel_id = 'public', worker_target = 'bench',
    trace_id = 'bench', status = 'running', waiting_tool_count = 0, updated_at = 1800000000000000
WHERE project_id = 'filled' AND agent_id = 'agent-' || lpad(:agent::text, 6, '0');
INSERT INTO state_agent_inbox (project_id, inbox_id, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id,
    worker_target, channel_id, depth, trace_id, output_box_id, payload, worker_id, token_hash, created_at, processed_at,
    retry_count)
VALUES ('filled', ('f2' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 'agent-' || lpad(:agent::text, 6, '0'), 'turn',
    'processing', ('f1' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 2,
    'turn_f1' || lpad(to_hex(:turn::bigint), 30, '0'), 'bench', 'public', 0, 'bench',
    ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid,
    '{"context_box_id":"00000000000000000000000000000002","output_box_id":"00000000000000000000000000000003","profile_box_id":"00000000000000000000000000000001","runtime_config":{}}',
    'worker-1', '\x0000000000000000000000000000000000000000000000000000000000000000', 1800000000000000,
    1800000000000000, 0);
INSERT INTO state_execution_edges (project_id, edge_id, primitive, edge_phase, correlation_id, scope, target_agent_id,
    target_agent_turn_id, depth, trace_id, inbox_id, request_hash, created_at)
VALUES ('filled', ('f4' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 'enqueue', 'request',
    'turn_f1' || lpad(to_hex(:turn::bigint), 30, '0'), '00000000-0000-0000-0000-000000000000',
    'agent-' || lpad(:agent::text, 6, '0'), ('f1' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 0, 'bench',
    ('f2' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid,
    '\x0000000000000000000000000000000000000000000000000000000000000000', 1800000000000000);
INSERT INTO card_boxes (project_id, box_id, generation, len, entries, depth, sealed, created_at)
VALUES ('filled', ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 1, 0, 0, 0, false, 1800000000000000);
INSERT INTO events (project_id, item_count, items)
VALUES ('filled', 1, ARRAY[ROW ('00000000-0000-0000-0000-000000000005', 'agent.state', 'agent-000001', 'public',
    'agent-000001', '{"agent_turn_id":"turn_00000000000000000000000000000001","status":"running","turn_epoch":2}',
    1800000000000000, '00000000-0000-0000-0000-000000000001', NULL, 'bench')::cw_event_item]);
COMMIT;
\endpipeline
\startpipeline
BEGIN;
UPDATE card_boxes SET len = len + 2, entries = entries + 2
WHERE project_id = 'filled' AND box_id = ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid AND generation = 1
    AND NOT sealed AND len BETWEEN 0 AND 1000;
INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, source)
VALUES ('filled', ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 1, 0,
        ('f5' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 'direct'),
    ('filled', ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 1, 1,
        ('f6' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 'direct');
INSERT INTO cards (project_id, card_id, kind, role, author_id, content, content_hash, fact_hash, tokens, metadata,
    origin, credential, created_at)
VALUES ('filled', ('f5' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 'agent.thought', 'assistant', 'agent-000001',
        '"The harbour lamp was lit before dusk; the keeper wrote down the wind, the tide and the names of the three boats still out, then sat by the window and counted them in, one by one, until night."',
        '\x0000000000000000000000000000000000000000000000000000000000000000',
        '\x0000000000000000000000000000000000000000000000000000000000000000', 45,
        '{"agent_turn_id":"turn_00000000000000000000000000000001","author_id":"agent-000001","role":"assistant","type":"agent.thought"}',
        'agent', false, 1800000000000000),
    ('filled', ('f6' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 'task.deliverable', 'assistant', 'agent-000001',
        '{"answer":"All boats are in."}', '\x0000000000000000000000000000000000000000000000000000000000000000',
        '\x0000000000000000000000000000000000000000000000000000000000000000', 8,
        '{"agent_turn_id":"turn_00000000000000000000000000000001","author_id":"agent-000001","role":"assistant","type":"task.deliverable"}',
        'agent', false, 1800000000000000);
UPDATE state_agent_state_head
SET active_agent_turn_id = NULL, inbox_id = NULL, profile_box_id = NULL, context_box_id = NULL, output_box_id = NULL,
    last_output_box_id = ('f3' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, output_watermark = NULL, depth = NULL,
    dispatched_at = NULL, channel_id = NULL, worker_target = NULL, trace_id = NULL, status = 'idle',
    waiting_tool_count = NULL, updated_at = 1800000000000000, busy = false
WHERE project_id = 'filled' AND agent_id = 'agent-' || lpad(:agent::text, 6, '0') AND status = 'running';
UPDATE state_agent_inbox
SET status = 'consumed', task_status = 'success', output_from = 0, output_until = 2, ended_at = 1800000000000000,
    deliverable_card_id = ('f6' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid
WHERE project_id = 'filled' AND inbox_id = ('f2' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid
    AND status = 'processing';
INSERT INTO state_agent_steps (project_id, step_id, agent_id, agent_turn_id, turn_epoch, phase, status, output_len,
    trace_id, metadata, created_at, updated_at)
VALUES ('filled', 'step_f7' || lpad(to_hex(:turn::bigint), 30, '0'), 'agent-' || lpad(:agent::text, 6, '0'),
    ('f1' || lpad(to_hex(:turn::bigint), 30, '0'))::uuid, 2, 'think', 'ok', 1, 'bench', '{}', 1800000000000000,
    1800000000000000);
INSERT INTO events (project_id, item_count, items)
VALUES ('filled', 2, ARRAY[
    ROW ('00000000-0000-0000-0000-000000000006', 'agent.step', 'agent-000001', 'public', 'agent-000001',
        '{"agent_turn_id":"turn_00000000000000000000000000000001","phase":"think","status":"ok","step_id":"step_00000000000000000000000000000001","turn_epoch":2}',
        1800000000000000, '00000000-0000-0000-0000-000000000001', NULL, 'bench')::cw_event_item,
    ROW ('00000000-0000-0000-0000-000000000007', 'agent.task', 'agent-000001', 'public', 'agent-000001',
        '{"agent_turn_id":"turn_00000000000000000000000000000001","status":"success","turn_epoch":2,"deliverable_card_id":"00000000000000000000000000000001"}',
        1800000000000000, '00000000-0000-0000-0000-000000000001', NULL, 'bench')::cw_event_item]);
COMMIT;
\endpipeline
