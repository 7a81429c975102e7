-- Batches and their branches, and what else orchestration keeps: sweeps, grants and the budgets of trees.

-- Everything before `status` stays as it was written.
CREATE TABLE state_pmo_batches (
    project_id           text COLLATE "C" NOT NULL,
    batch_id             uuid    NOT NULL,
    parent_agent_id      text COLLATE "C" NOT NULL,
    parent_agent_turn_id uuid,
    parent_turn_epoch    bigint,
    parent_tool_call_id  text    NOT NULL,
    channel_id           text    NOT NULL,
    trace_id             text    NOT NULL,
    depth                bigint  NOT NULL,
    task_count           bigint  NOT NULL,
    fail_fast            boolean NOT NULL,
    enough               bigint  NOT NULL,
    parallel             bigint  NOT NULL,
    result_tokens        bigint  NOT NULL,
    deadline_at          bigint,
    created_at           bigint  NOT NULL,
    status               text    NOT NULL,
    closing              text,
    result_card_id       uuid,
    closed_at            bigint,
    PRIMARY KEY (project_id, batch_id)
) WITH (fillfactor = 70);

-- What is to be gone on with, over all projects.
CREATE INDEX state_pmo_batches_running ON state_pmo_batches (project_id, batch_id) WHERE status = 'running';
CREATE INDEX state_pmo_batches_by_parent_turn ON state_pmo_batches (parent_agent_turn_id, project_id, batch_id)
    WHERE parent_agent_turn_id IS NOT NULL;

-- What the end of a branch changes stands last, as in the other tables whose rows change.
CREATE TABLE state_pmo_batch_tasks (
    project_id          text COLLATE "C" NOT NULL,
    batch_id            uuid   NOT NULL,
    task_index          bigint NOT NULL,
    created_at          bigint NOT NULL,
    agent_id            text COLLATE "C",
    agent_turn_id       uuid,
    turn_epoch          bigint,
    context_box_id      uuid,
    output_box_id       uuid,
    attempts            bigint NOT NULL,
    next_attempt_at     bigint,
    warning             text,
    status              text   NOT NULL,
    deliverable_card_id uuid,
    error_detail        text,
    error_code          text,
    updated_at          bigint NOT NULL,
    PRIMARY KEY (project_id, batch_id, task_index)
);

-- How a batch stands: whether any branch is open or has failed is one look, and those in one status are counted and
-- listed by index without passing over the others. Every branch is in one of these four. One index over all with the
-- status before the index of the branch would serve as well, and would be taken, now and then, for finding a branch by
-- its key: it reads all branches of the batch for that.
CREATE INDEX state_pmo_batch_tasks_pending ON state_pmo_batch_tasks (batch_id, project_id, task_index)
    WHERE status = 'pending';
CREATE INDEX state_pmo_batch_tasks_dispatched ON state_pmo_batch_tasks (batch_id, project_id, task_index)
    WHERE status = 'dispatched';
CREATE INDEX state_pmo_batch_tasks_success ON state_pmo_batch_tasks (batch_id, project_id, task_index)
    WHERE status = 'success';
CREATE INDEX state_pmo_batch_tasks_failed ON state_pmo_batch_tasks (batch_id, project_id, task_index)
    WHERE status IN ('failed', 'canceled', 'timeout');
-- Branches that nobody has started. Most are started as they are dispatched and never come in here.
CREATE INDEX state_pmo_batch_tasks_unleased ON state_pmo_batch_tasks (batch_id, project_id, task_index)
    WHERE status = 'dispatched' AND turn_epoch IS NULL;

-- Whose descendants are still to be stopped: `subject_id` is a turn or a batch, as `scope` says.
CREATE TABLE state_pmo_sweeps (
    project_id text COLLATE "C" NOT NULL,
    scope      text COLLATE "C" NOT NULL,
    subject_id uuid NOT NULL,
    PRIMARY KEY (project_id, scope, subject_id)
);

-- Boxes that were handed to agents (X-04).
CREATE TABLE state_box_grants (
    project_id text COLLATE "C" NOT NULL,
    agent_id   text COLLATE "C" NOT NULL,
    box_id     uuid   NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, agent_id, box_id)
);

-- How many turns were started below a root. Counted up with every turn, on the page where the count stands.
CREATE TABLE state_pmo_trees (
    project_id         text COLLATE "C" NOT NULL,
    root_agent_turn_id uuid   NOT NULL,
    turns              bigint NOT NULL,
    PRIMARY KEY (project_id, root_agent_turn_id)
) WITH (fillfactor = 50);

-- The branch that a turn is: both or none.
ALTER TABLE state_agent_inbox
    ADD COLUMN batch_id   uuid,
    ADD COLUMN task_index bigint;

-- Open turns that a turn has started by itself; a batch says what becomes of its branches.
CREATE INDEX state_agent_inbox_children ON state_agent_inbox (parent_agent_turn_id, project_id, agent_turn_id)
    WHERE kind = 'turn' AND status IN ('queued', 'pending', 'processing', 'deferred')
        AND parent_agent_turn_id IS NOT NULL AND batch_id IS NULL;

-- The project comes first now: turns that wait are also counted by project. Whoever looks for those of one agent names
-- both.
DROP INDEX state_agent_inbox_queued;
CREATE INDEX state_agent_inbox_queued ON state_agent_inbox (project_id, agent_id, seq)
    WHERE kind = 'turn' AND status = 'queued';

-- A batch whose row is held while its branches change, for itself when the row is to be changed as well.
CREATE TYPE cw_batch_lock AS (
    batch_id  uuid,
    exclusive boolean
);

-- How a write to a branch travels: what it is (add, move, end), of which branch, in which state it must be for a move,
-- and the new values. An end uses some of them.
CREATE TYPE cw_branch AS (
    op                  text,
    project_id          text,
    batch_id            uuid,
    task_index          bigint,
    from_status         text,
    created_at          bigint,
    agent_id            text,
    agent_turn_id       uuid,
    turn_epoch          bigint,
    context_box_id      uuid,
    output_box_id       uuid,
    attempts            bigint,
    next_attempt_at     bigint,
    warning             text,
    status              text,
    deliverable_card_id uuid,
    error_detail        text,
    error_code          text,
    updated_at          bigint
);

-- How a change to a batch travels: the `closing` it must have, and the new values; the last two only when it `closes`.
CREATE TYPE cw_batch_change AS (
    op             text,
    project_id     text,
    batch_id       uuid,
    from_closing   text,
    closes         boolean,
    status         text,
    closing        text,
    result_card_id uuid,
    closed_at      bigint
);

-- So many more turns below a root that has `most` of them now.
CREATE TYPE cw_spending AS (
    root_agent_turn_id uuid,
    turns              bigint,
    most               bigint
);

-- What a commit does to all of these, by kind. Most commits have nothing of it.
CREATE TYPE cw_pmo_writes AS (
    locks       cw_batch_lock[],
    batches     state_pmo_batches[],
    added       cw_branch[],
    moved       cw_branch[],
    ended       cw_branch[],
    more        cw_branch[],
    changes     cw_batch_change[],
    sweeps      state_pmo_sweeps[],
    done_sweeps state_pmo_sweeps[],
    grants      state_box_grants[],
    spends      cw_spending[]
);
