-- Agents without work and turns that have ended, as if they had been there for long. {agents} and {turns} are numbers.
BEGIN;
INSERT INTO resource_projects (project_id, settings, revision, deletions, created_at, updated_at)
VALUES ('filled', '{}', 1, 0, 1, 1);

INSERT INTO resource_project_agents (project_id, agent_id, profile_name, profile_box_id, worker_target, tags, metadata,
       revision, created_at, updated_at)
SELECT 'filled', 'agent-' || lpad(i::text, 6, '0'), 'noop', lpad('1', 32, '0')::uuid, 'bench', '{}', '{}', 1, 1, 1
FROM generate_series(0, {agents} - 1) AS i;

INSERT INTO state_agent_state_head (project_id, agent_id, turn_epoch, status, open_calls, marks, updated_at, queued,
       busy)
SELECT 'filled', 'agent-' || lpad(i::text, 6, '0'), 1, 'idle', 0, 0, 1, 0, false
FROM generate_series(0, {agents} - 1) AS i;

INSERT INTO state_snapshots (project_id, agent_id, turn_epoch, status, open_calls, marks, updated_at)
SELECT project_id, agent_id, turn_epoch, status, 0, 0, updated_at FROM state_agent_state_head;

CREATE TEMP TABLE turns AS
SELECT i, 'agent-' || lpad((i % {agents})::text, 6, '0') AS agent_id,
       ('01' || lpad(to_hex(i), 30, '0'))::uuid AS turn_id, ('02' || lpad(to_hex(i), 30, '0'))::uuid AS inbox_id,
       1700000000000000 + i * 1000::bigint AS at
FROM generate_series(1, {turns}) AS i;

INSERT INTO state_agent_inbox (project_id, inbox_id, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id,
       worker_target, channel_id, depth, trace_id, output_box_id, payload, worker_id, token_hash, created_at,
       processed_at, retry_count, task_status, deliverable_card_id, output_from, output_until, ended_at)
SELECT 'filled', inbox_id, agent_id, 'turn', 'consumed', turn_id, 1, turn_id::text, 'bench', 'public', 0, 'bench',
       ('03' || lpad(to_hex(i), 30, '0'))::uuid,
       json_build_object('profile_box_id', inbox_id, 'context_box_id', inbox_id, 'output_box_id', inbox_id)::text,
       'worker-1', decode(repeat('00', 32), 'hex'), at, at, 0, 'success', ('04' || lpad(to_hex(i), 30, '0'))::uuid, 0, 2,
       at
FROM turns;

INSERT INTO state_execution_edges (project_id, edge_id, primitive, edge_phase, correlation_id, scope, target_agent_id,
       target_agent_turn_id, depth, trace_id, inbox_id, request_hash, created_at)
SELECT 'filled', ('05' || lpad(to_hex(i), 30, '0'))::uuid, 'enqueue', 'request', turn_id::text, lpad('', 32, '0')::uuid,
       agent_id, turn_id, 0, 'bench', inbox_id, decode(repeat('00', 32), 'hex'), at
FROM turns;

INSERT INTO state_agent_steps (project_id, step_id, agent_id, agent_turn_id, turn_epoch, phase, status, output_len,
       trace_id, metadata, created_at, updated_at)
SELECT 'filled', 'step_' || lpad(to_hex(i), 32, '0'), agent_id, turn_id, 1, 'think', 'ok', 1, 'bench', '{}', at, at
FROM turns;

INSERT INTO events (project_id, last_position, item_count, items)
SELECT 'filled', i * 3, 3, ARRAY(
       SELECT ROW (gen_random_uuid(), 'agent.state', agent_id, 'public', agent_id,
           json_build_object('status', 'running', 'agent_turn_id', turn_id, 'inbox_id', inbox_id)::text, at, turn_id,
           NULL, 'bench')::cw_event_item
       FROM generate_series(1, 3))
FROM turns;

INSERT INTO event_heads (project_id, last_position) SELECT 'filled', max(last_position) FROM events HAVING count(*) > 0;
DROP TABLE turns;
COMMIT;
