-- Batches and their branches, and what else orchestration keeps: sweeps, grants and the budgets of trees.

-- Everything before `status` stays as it was written.
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
    closed_at            INTEGER,
    PRIMARY KEY (project_id, batch_id)
) STRICT, WITHOUT ROWID;

-- What is to be gone on with.
CREATE INDEX state_pmo_batches_running ON state_pmo_batches (project_id, batch_id) WHERE status = 'running';
CREATE INDEX state_pmo_batches_by_parent_turn ON state_pmo_batches (project_id, parent_agent_turn_id)
    WHERE parent_agent_turn_id IS NOT NULL;

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

-- How a batch stands: whether any branch is open or has failed is one look per status, and those in one status are
-- counted and listed by index without passing over the others.
CREATE INDEX state_pmo_batch_tasks_by_status ON state_pmo_batch_tasks (project_id, batch_id, status, task_index);
-- Branches that nobody has started. Most are started as they are dispatched and never come in here.
CREATE INDEX state_pmo_batch_tasks_unleased ON state_pmo_batch_tasks (project_id, batch_id, task_index)
    WHERE status = 'dispatched' AND turn_epoch IS NULL;

-- Whose descendants are still to be stopped: `subject_id` is a turn or a batch, as `scope` says.
CREATE TABLE state_pmo_sweeps (
    project_id TEXT NOT NULL,
    scope      TEXT NOT NULL,
    subject_id BLOB NOT NULL,
    PRIMARY KEY (project_id, scope, subject_id)
) STRICT, WITHOUT ROWID;

-- Boxes that were handed to agents (X-04).
CREATE TABLE state_box_grants (
    project_id TEXT    NOT NULL,
    agent_id   TEXT    NOT NULL,
    box_id     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, agent_id, box_id)
) STRICT, WITHOUT ROWID;

-- How many turns were started below a root.
CREATE TABLE state_pmo_trees (
    project_id         TEXT    NOT NULL,
    root_agent_turn_id BLOB    NOT NULL,
    turns              INTEGER NOT NULL,
    PRIMARY KEY (project_id, root_agent_turn_id)
) STRICT, WITHOUT ROWID;

-- The branch that a turn is: both or none.
ALTER TABLE state_agent_inbox ADD COLUMN batch_id BLOB;
ALTER TABLE state_agent_inbox ADD COLUMN task_index INTEGER;

-- Open turns that a turn has started by itself; a batch says what becomes of its branches.
CREATE INDEX state_agent_inbox_children ON state_agent_inbox (project_id, parent_agent_turn_id, agent_turn_id)
    WHERE kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred')
      AND parent_agent_turn_id IS NOT NULL AND batch_id IS NULL;
