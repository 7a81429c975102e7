-- The whole schema, as the replay of all migrations leaves it. Checked by a test.

CREATE TABLE answers (
    project_id   TEXT    NOT NULL,
    caller       TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    request_hash BLOB    NOT NULL,
    status       INTEGER NOT NULL,
    body         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (project_id, caller, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    project_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    verdict    TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    position   INTEGER,
    hash       BLOB,
    PRIMARY KEY (project_id, seq),
    CHECK ((position IS NULL) = (hash IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE box_entries (
    project_id         TEXT    NOT NULL,
    box_id             BLOB    NOT NULL,
    generation         INTEGER NOT NULL,
    seq                INTEGER NOT NULL,
    card_id            BLOB,
    segment_box        BLOB,
    segment_generation INTEGER,
    segment_len        INTEGER,
    source             TEXT    NOT NULL,
    rule               INTEGER,
    PRIMARY KEY (project_id, box_id, generation, seq),
    CHECK ((card_id IS NULL) = (segment_box IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE card_boxes (
    project_id    TEXT    NOT NULL,
    box_id        BLOB    NOT NULL,
    generation    INTEGER NOT NULL,
    len           INTEGER NOT NULL,
    entries       INTEGER NOT NULL,
    depth         INTEGER NOT NULL,
    sealed        INTEGER NOT NULL,
    handover_hash BLOB,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (project_id, box_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE cards (
    project_id   TEXT    NOT NULL,
    card_id      BLOB    NOT NULL,
    kind         TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    author_id    TEXT,
    content      TEXT    NOT NULL,
    content_hash BLOB    NOT NULL,
    fact_hash    BLOB    NOT NULL,
    tokens       INTEGER NOT NULL,
    tool_calls   TEXT,
    tool_call_id TEXT,
    metadata     TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    credential   INTEGER NOT NULL,
    ttl_seconds  INTEGER,
    expires_at   INTEGER,
    deleted_at   INTEGER,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (project_id, card_id)
) STRICT;

CREATE TABLE events (
    project_id TEXT    NOT NULL,
    position   INTEGER NOT NULL,
    event_id   BLOB    NOT NULL,
    kind       TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    agent_id   TEXT,
    data       TEXT    NOT NULL,
    at         INTEGER NOT NULL, agent_turn_id BLOB, batch_id BLOB, trace_id TEXT,
    PRIMARY KEY (project_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE resource_documents (
    project_id TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    card_id    BLOB    NOT NULL,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (project_id, kind, name)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE resource_passage_terms USING fts5 (terms, content = '', contentless_delete = 1, tokenize = 'ascii');

CREATE TABLE resource_passages (
    passage_id   INTEGER NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    namespace    TEXT    NOT NULL,
    source       TEXT    NOT NULL,
    part         INTEGER NOT NULL,
    card_id      BLOB    NOT NULL,
    content_hash BLOB    NOT NULL,
    terms        TEXT    NOT NULL,
    embedding    BLOB,
    created_at   INTEGER NOT NULL
) STRICT;

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

CREATE TABLE resource_projects (
    project_id  TEXT    NOT NULL PRIMARY KEY,
    title       TEXT,
    settings    TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    deletions   INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    deleted_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE schema_migrations (
    number   INTEGER NOT NULL PRIMARY KEY,
    name     TEXT    NOT NULL,
    checksum TEXT    NOT NULL
) STRICT;

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
, batch_id BLOB, task_index INTEGER) STRICT;

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

CREATE TABLE state_box_grants (
    project_id TEXT    NOT NULL,
    agent_id   TEXT    NOT NULL,
    box_id     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, agent_id, box_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE state_identity_edges (
    project_id      TEXT    NOT NULL,
    edge_id         BLOB    NOT NULL,
    action          TEXT    NOT NULL,
    source_agent_id TEXT,
    target_agent_id TEXT    NOT NULL,
    channel_id      TEXT    NOT NULL,
    trace_id        TEXT,
    metadata        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL, parent_step_id TEXT,
    PRIMARY KEY (project_id, edge_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE state_pmo_batch_tasks (
    project_id          TEXT    NOT NULL,
    batch_id            BLOB    NOT NULL,
    task_index          INTEGER NOT NULL,
    status              TEXT    NOT NULL,
    agent_id            TEXT,
    agent_turn_id       BLOB,
    turn_epoch          INTEGER,
    context_box_id      BLOB,
    output_box_id       BLOB,
    attempts            INTEGER NOT NULL,
    next_attempt_at     INTEGER,
    deliverable_card_id BLOB,
    error_detail        TEXT,
    error_code          TEXT,
    warning             TEXT,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    PRIMARY KEY (project_id, batch_id, task_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE state_pmo_batches (
    project_id           TEXT    NOT NULL,
    batch_id             BLOB    NOT NULL,
    parent_agent_id      TEXT    NOT NULL,
    parent_agent_turn_id BLOB,
    parent_turn_epoch    INTEGER,
    parent_tool_call_id  TEXT    NOT NULL,
    channel_id           TEXT    NOT NULL,
    trace_id             TEXT    NOT NULL,
    depth                INTEGER NOT NULL,
    task_count           INTEGER NOT NULL,
    fail_fast            INTEGER NOT NULL,
    enough               INTEGER NOT NULL,
    parallel             INTEGER NOT NULL,
    result_tokens        INTEGER NOT NULL,
    deadline_at          INTEGER,
    created_at           INTEGER NOT NULL,
    status               TEXT    NOT NULL,
    closing              TEXT,
    result_card_id       BLOB,
    closed_at            INTEGER, parent_step_id TEXT,
    PRIMARY KEY (project_id, batch_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE state_pmo_sweeps (
    project_id TEXT NOT NULL,
    scope      TEXT NOT NULL,
    subject_id BLOB NOT NULL,
    PRIMARY KEY (project_id, scope, subject_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE state_pmo_trees (
    project_id         TEXT    NOT NULL,
    root_agent_turn_id BLOB    NOT NULL,
    turns              INTEGER NOT NULL,
    PRIMARY KEY (project_id, root_agent_turn_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE state_sessions (
    project_id         TEXT    NOT NULL,
    namespace          TEXT    NOT NULL,
    session_id         TEXT    NOT NULL,
    version            INTEGER NOT NULL,
    checkpoint_card_id BLOB    NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    deleted_at         INTEGER,
    PRIMARY KEY (project_id, namespace, session_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE tokens (
    project_id  TEXT    NOT NULL,
    token_id    BLOB    NOT NULL,
    secret_hash BLOB    NOT NULL,
    scopes      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    PRIMARY KEY (project_id, token_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX answers_by_time ON answers (created_at);

CREATE UNIQUE INDEX audit_by_position ON audit (project_id, position) WHERE position IS NOT NULL;

CREATE INDEX audit_unsealed ON audit (project_id, seq) WHERE position IS NULL;

CREATE UNIQUE INDEX box_entries_by_card ON box_entries (project_id, box_id, generation, card_id)
    WHERE card_id IS NOT NULL;

CREATE UNIQUE INDEX resource_passages_by_key ON resource_passages (project_id, kind, namespace, source, part);

CREATE INDEX resource_project_agents_by_time ON resource_project_agents (project_id, created_at, agent_id);

CREATE INDEX state_agent_inbox_by_agent ON state_agent_inbox (project_id, agent_id, inbox_id);

CREATE UNIQUE INDEX state_agent_inbox_by_id ON state_agent_inbox (project_id, inbox_id);

CREATE UNIQUE INDEX state_agent_inbox_by_turn ON state_agent_inbox (project_id, agent_turn_id, is_turn);

CREATE INDEX state_agent_inbox_children ON state_agent_inbox (project_id, parent_agent_turn_id, agent_turn_id)
    WHERE kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred')
      AND parent_agent_turn_id IS NOT NULL AND batch_id IS NULL;

CREATE INDEX state_agent_inbox_claimable ON state_agent_inbox (worker_target, seq, project_id)
    WHERE status = 'pending' OR status = 'deferred';

CREATE INDEX state_agent_inbox_due ON state_agent_inbox (project_id, inbox_id)
    WHERE status = 'pending' OR status = 'processing' OR status = 'deferred';

CREATE INDEX state_agent_inbox_held ON state_agent_inbox (worker_target, worker_id, seq) WHERE status = 'processing';

CREATE INDEX state_agent_inbox_queued ON state_agent_inbox (project_id, agent_id)
    WHERE status = 'queued' AND kind = 'turn';

CREATE INDEX state_agent_inbox_writers ON state_agent_inbox (project_id, output_box_id)
    WHERE kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred');

CREATE INDEX state_agent_state_head_busy ON state_agent_state_head (project_id, agent_id)
    WHERE status <> 'idle' OR queued > 0;

CREATE INDEX state_agent_steps_by_agent ON state_agent_steps (project_id, agent_id, created_at);

CREATE INDEX state_agent_steps_by_time ON state_agent_steps (project_id, created_at, step_id);

CREATE INDEX state_agent_steps_by_turn ON state_agent_steps (project_id, agent_turn_id, created_at);

CREATE UNIQUE INDEX state_execution_edges_by_correlation
    ON state_execution_edges (project_id, correlation_id, scope, primitive, edge_phase);

CREATE INDEX state_execution_edges_by_source ON state_execution_edges (project_id, source_agent_id)
    WHERE source_agent_id IS NOT NULL;

CREATE INDEX state_execution_edges_by_source_turn ON state_execution_edges (project_id, source_agent_turn_id)
    WHERE source_agent_turn_id IS NOT NULL;

CREATE INDEX state_execution_edges_by_target ON state_execution_edges (project_id, target_agent_id)
    WHERE target_agent_id IS NOT NULL;

CREATE INDEX state_execution_edges_by_target_turn ON state_execution_edges (project_id, target_agent_turn_id)
    WHERE target_agent_turn_id IS NOT NULL;

CREATE INDEX state_identity_edges_by_source ON state_identity_edges (project_id, source_agent_id)
    WHERE source_agent_id IS NOT NULL;

CREATE INDEX state_identity_edges_by_target ON state_identity_edges (project_id, target_agent_id);

CREATE INDEX state_pmo_batch_tasks_by_status ON state_pmo_batch_tasks (project_id, batch_id, status, task_index);

CREATE INDEX state_pmo_batch_tasks_unleased ON state_pmo_batch_tasks (project_id, batch_id, task_index)
    WHERE status = 'dispatched' AND turn_epoch IS NULL;

CREATE INDEX state_pmo_batches_by_parent_turn ON state_pmo_batches (project_id, parent_agent_turn_id)
    WHERE parent_agent_turn_id IS NOT NULL;

CREATE INDEX state_pmo_batches_running ON state_pmo_batches (project_id, batch_id) WHERE status = 'running';

CREATE UNIQUE INDEX tokens_by_hash ON tokens (secret_hash);

CREATE UNIQUE INDEX tokens_by_id ON tokens (token_id);
