-- Agents without work and turns that have ended, as if they had been there for long. {agents} and {turns} are numbers.
BEGIN;
INSERT INTO resource_projects (project_id, settings, revision, deletions, created_at, updated_at)
VALUES ('filled', '{}', 1, 0, 1, 1);

WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {agents})
INSERT INTO resource_project_agents (project_id, agent_id, profile_name, profile_box_id, worker_target, tags, metadata,
       revision, created_at, updated_at)
SELECT 'filled', printf('agent-%06d', i), 'noop', unhex(printf('%032x', 1)), 'bench', '[]', '{}', 1, 1, 1 FROM n;

WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {agents})
INSERT INTO state_agent_state_head (project_id, agent_id, turn_epoch, status, waiting_tool_count, output_watermark, depth,
       open_calls, marks, updated_at, queued)
SELECT 'filled', printf('agent-%06d', i), 1, 'idle', 0, 0, 0, 0, 0, 1, 0 FROM n;

INSERT INTO state_snapshots (project_id, agent_id, turn_epoch, status, waiting_tool_count, output_watermark, depth,
       open_calls, marks, updated_at)
SELECT project_id, agent_id, turn_epoch, status, 0, 0, 0, 0, 0, updated_at FROM state_agent_state_head;

CREATE TEMP TABLE turns AS
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {turns})
SELECT i, printf('agent-%06d', i % {agents}) AS agent_id, unhex(printf('01%030x', i)) AS turn_id,
       unhex(printf('02%030x', i)) AS inbox_id, 1700000000000000 + i * 1000 AS at
FROM n WHERE {turns} > 0;

INSERT INTO state_agent_inbox (project_id, inbox_id, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id,
       worker_target, channel_id, depth, trace_id, output_box_id, payload, worker_id, token_hash, created_at,
       processed_at, retry_count, task_status, deliverable_card_id, output_from, output_to, ended_at)
SELECT 'filled', inbox_id, agent_id, 'turn', 'consumed', turn_id, 1, hex(turn_id), 'bench', 'public', 0, 'bench',
       unhex(printf('03%030x', i)),
       json_object('profile_box_id', hex(inbox_id), 'context_box_id', hex(inbox_id), 'output_box_id', hex(inbox_id)),
       'worker-1', zeroblob(32), at, at, 0, 'success', unhex(printf('04%030x', i)), 0, 2, at
FROM turns;

INSERT INTO state_execution_edges (project_id, edge_id, primitive, edge_phase, correlation_id, scope, target_agent_id,
       target_agent_turn_id, depth, trace_id, inbox_id, request_hash, created_at)
SELECT 'filled', unhex(printf('05%030x', i)), 'enqueue', 'request', hex(turn_id), zeroblob(16), agent_id, turn_id, 0,
       'bench', inbox_id, zeroblob(32), at
FROM turns;

INSERT INTO state_agent_steps (project_id, step_id, agent_id, agent_turn_id, turn_epoch, phase, status, output_len,
       trace_id, metadata, created_at, updated_at)
SELECT 'filled', printf('step_%032x', i), agent_id, turn_id, 1, 'think', 'ok', 1, 'bench', '{}', at, at
FROM turns;

INSERT INTO events (project_id, position, event_id, kind, target, channel, agent_id, data, at, agent_turn_id, trace_id)
SELECT 'filled', i * 3 - 2 + k, unhex(printf('%02x%030x', 6 + k, i)), 'agent.state', agent_id, 'public', agent_id,
       json_object('status', 'running', 'agent_turn_id', hex(turn_id), 'inbox_id', hex(inbox_id)), at, turn_id, 'bench'
FROM turns, (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2)
ORDER BY i, k;
DROP TABLE turns;
COMMIT;
