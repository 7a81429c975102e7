-- Turns: what agents are doing, their inboxes, what turns leave behind, and the roster.

-- One row per agent. An idle head has no live turn: everything from active_agent_turn_id to marks is NULL or 0.
CREATE TABLE state_agent_state_head (
    project_id           TEXT    NOT NULL,
    agent_id             TEXT    NOT NULL,
    turn_epoch           INTEGER NOT NULL,
    status               TEXT    NOT NULL,
    active_agent_turn_id BLOB,
    inbox_id             BLOB,
    waiting_tool_count   INTEGER NOT NULL,
    resume_deadline      INTEGER,
    channel_id           TEXT,
    worker_target        TEXT,
    profile_box_id       BLOB,
    context_box_id       BLOB,
    output_box_id        BLOB,
    output_watermark     INTEGER NOT NULL,
    depth                INTEGER NOT NULL,
    trace_id             TEXT,
    parent_step_id       TEXT,
    dispatched_at        INTEGER,
    last_doorbell_at     INTEGER,
    deliverable_card_id  BLOB,
    open_calls           INTEGER NOT NULL CHECK (open_calls >= 0),
    marks                INTEGER NOT NULL,
    last_output_box_id   BLOB,
    updated_at           INTEGER NOT NULL,
    queued               INTEGER NOT NULL CHECK (queued >= 0),
    PRIMARY KEY (project_id, agent_id)
) STRICT, WITHOUT ROWID;

-- What the watchdog walks: idle agents that nothing waits for are not in it.
CREATE INDEX state_agent_state_head_busy ON state_agent_state_head (project_id, agent_id)
    WHERE status <> 'idle' OR queued > 0;

-- The head as it was after its last move, for the day it is lost (WD-08). How many wait is counted anew then.
CREATE TABLE state_snapshots (
    project_id           TEXT    NOT NULL,
    agent_id             TEXT    NOT NULL,
    turn_epoch           INTEGER NOT NULL,
    status               TEXT    NOT NULL,
    active_agent_turn_id BLOB,
    inbox_id             BLOB,
    waiting_tool_count   INTEGER NOT NULL,
    resume_deadline      INTEGER,
    channel_id           TEXT,
    worker_target        TEXT,
    profile_box_id       BLOB,
    context_box_id       BLOB,
    output_box_id        BLOB,
    output_watermark     INTEGER NOT NULL,
    depth                INTEGER NOT NULL,
    trace_id             TEXT,
    parent_step_id       TEXT,
    dispatched_at        INTEGER,
    last_doorbell_at     INTEGER,
    deliverable_card_id  BLOB,
    open_calls           INTEGER NOT NULL,
    marks                INTEGER NOT NULL,
    last_output_box_id   BLOB,
    updated_at           INTEGER NOT NULL,
    PRIMARY KEY (project_id, agent_id)
) STRICT, WITHOUT ROWID;

-- The row of a turn stays after the turn has ended: it is the turn's record. `seq` is the place in the queue, over
-- all projects, so that claims of several projects are fair; a number is never given twice.
CREATE TABLE state_agent_inbox (
    seq                  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project_id           TEXT    NOT NULL,
    inbox_id             BLOB    NOT NULL,
    agent_id             TEXT    NOT NULL,
    kind                 TEXT    NOT NULL,
    status               TEXT    NOT NULL,
    agent_turn_id        BLOB    NOT NULL,
    turn_epoch           INTEGER,
    correlation_id       TEXT    NOT NULL,
    worker_target        TEXT    NOT NULL,
    channel_id           TEXT,
    depth                INTEGER,
    trace_id             TEXT,
    parent_agent_turn_id BLOB,
    parent_tool_call_id  TEXT,
    parent_step_id       TEXT,
    output_box_id        BLOB,
    payload              TEXT    NOT NULL,
    worker_id            TEXT,
    token_hash           BLOB,
    created_at           INTEGER NOT NULL,
    processed_at         INTEGER,
    retry_count          INTEGER NOT NULL,
    next_retry_at        INTEGER,
    reason               TEXT,
    task_status          TEXT,
    deliverable_card_id  BLOB,
    error                TEXT,
    error_code           TEXT,
    output_from          INTEGER,
    output_to            INTEGER,
    ended_at             INTEGER,
    is_turn              INTEGER GENERATED ALWAYS AS (CASE kind WHEN 'turn' THEN 1 END) VIRTUAL
) STRICT;

-- The conditions of partial indexes are spelled out with OR, here and in the statements that use them: SQLite builds
-- a table for every list of more than two values, and it would do so for every row that is written.
CREATE UNIQUE INDEX state_agent_inbox_by_id ON state_agent_inbox (project_id, inbox_id);
-- One row per turn that is the turn itself, and any number that are for it: NULLs are never equal.
CREATE UNIQUE INDEX state_agent_inbox_by_turn ON state_agent_inbox (project_id, agent_turn_id, is_turn);
CREATE INDEX state_agent_inbox_by_agent ON state_agent_inbox (project_id, agent_id);
-- What workers ask for. The project stands in it so that rows of others are passed over without being read.
CREATE INDEX state_agent_inbox_claimable ON state_agent_inbox (worker_target, seq, project_id)
    WHERE status = 'pending' OR status = 'deferred';
-- What waits behind a live turn.
CREATE INDEX state_agent_inbox_queued ON state_agent_inbox (project_id, agent_id)
    WHERE status = 'queued' AND kind = 'turn';
-- What the watchdog walks.
CREATE INDEX state_agent_inbox_due ON state_agent_inbox (project_id, inbox_id)
    WHERE status = 'pending' OR status = 'processing' OR status = 'deferred';
-- Whose open turns write a box (CB-14).
CREATE INDEX state_agent_inbox_writers ON state_agent_inbox (project_id, output_box_id)
    WHERE kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred');

-- `scope` is all zeroes, or the turn within which the correlation is unique.
CREATE TABLE state_execution_edges (
    project_id           TEXT    NOT NULL,
    edge_id              BLOB    NOT NULL,
    primitive            TEXT    NOT NULL,
    edge_phase           TEXT    NOT NULL,
    correlation_id       TEXT    NOT NULL,
    scope                BLOB    NOT NULL,
    source_agent_id      TEXT,
    source_agent_turn_id BLOB,
    target_agent_id      TEXT,
    target_agent_turn_id BLOB,
    depth                INTEGER NOT NULL,
    trace_id             TEXT    NOT NULL,
    parent_step_id       TEXT,
    inbox_id             BLOB,
    request_hash         BLOB,
    created_at           INTEGER NOT NULL,
    PRIMARY KEY (project_id, edge_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX state_execution_edges_by_correlation
    ON state_execution_edges (project_id, correlation_id, scope, primitive, edge_phase);
CREATE INDEX state_execution_edges_by_source ON state_execution_edges (project_id, source_agent_id)
    WHERE source_agent_id IS NOT NULL;
CREATE INDEX state_execution_edges_by_target ON state_execution_edges (project_id, target_agent_id)
    WHERE target_agent_id IS NOT NULL;
CREATE INDEX state_execution_edges_by_source_turn ON state_execution_edges (project_id, source_agent_turn_id)
    WHERE source_agent_turn_id IS NOT NULL;
CREATE INDEX state_execution_edges_by_target_turn ON state_execution_edges (project_id, target_agent_turn_id)
    WHERE target_agent_turn_id IS NOT NULL;

CREATE TABLE state_agent_steps (
    project_id     TEXT    NOT NULL,
    step_id        TEXT    NOT NULL,
    agent_id       TEXT    NOT NULL,
    agent_turn_id  BLOB    NOT NULL,
    turn_epoch     INTEGER NOT NULL,
    phase          TEXT    NOT NULL,
    status         TEXT,
    call_id        TEXT,
    request_box_id BLOB,
    output_len     INTEGER NOT NULL,
    trace_id       TEXT    NOT NULL,
    metadata       TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (project_id, step_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX state_agent_steps_by_agent ON state_agent_steps (project_id, agent_id, created_at);
CREATE INDEX state_agent_steps_by_turn ON state_agent_steps (project_id, agent_turn_id, created_at);

CREATE TABLE state_tool_calls (
    project_id     TEXT    NOT NULL,
    agent_turn_id  BLOB    NOT NULL,
    tool_call_id   TEXT    NOT NULL,
    agent_id       TEXT    NOT NULL,
    call_card_id   BLOB,
    waiting        INTEGER NOT NULL,
    answer_status  TEXT,
    terminate      INTEGER,
    answer_card_id BLOB,
    answered_at    INTEGER,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (project_id, agent_turn_id, tool_call_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE resource_profiles (
    project_id     TEXT    NOT NULL,
    profile_name   TEXT    NOT NULL,
    worker_target  TEXT    NOT NULL,
    profile_box_id BLOB    NOT NULL,
    card_id        BLOB    NOT NULL,
    tags           TEXT    NOT NULL,
    revision       INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    deleted_at     INTEGER,
    PRIMARY KEY (project_id, profile_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE resource_project_agents (
    project_id     TEXT    NOT NULL,
    agent_id       TEXT    NOT NULL,
    profile_name   TEXT    NOT NULL,
    profile_box_id BLOB    NOT NULL,
    worker_target  TEXT    NOT NULL,
    display_name   TEXT,
    tags           TEXT    NOT NULL,
    owner_agent_id TEXT,
    metadata       TEXT    NOT NULL,
    revision       INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (project_id, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE state_identity_edges (
    project_id      TEXT    NOT NULL,
    edge_id         BLOB    NOT NULL,
    action          TEXT    NOT NULL,
    source_agent_id TEXT,
    target_agent_id TEXT    NOT NULL,
    channel_id      TEXT    NOT NULL,
    trace_id        TEXT,
    metadata        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (project_id, edge_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX state_identity_edges_by_source ON state_identity_edges (project_id, source_agent_id)
    WHERE source_agent_id IS NOT NULL;
CREATE INDEX state_identity_edges_by_target ON state_identity_edges (project_id, target_agent_id);

-- Events of turns.
ALTER TABLE events ADD COLUMN agent_turn_id BLOB;
ALTER TABLE events ADD COLUMN batch_id BLOB;
ALTER TABLE events ADD COLUMN trace_id TEXT;
-- Readers of one agent's events follow the log and pass over the rest; no statement ever used this index, and now
-- every turn would pay for it several times.
DROP INDEX events_by_agent;
