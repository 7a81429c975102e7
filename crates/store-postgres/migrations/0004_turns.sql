-- Turns: the state of agents, their inboxes, the execution graph, and the roster. Names follow the wire.
--
-- In tables whose rows change, what changes stands last: the log then carries only the end of the new row.
-- Primary keys start with the project; other indexes start with what they are for. A plan that is made while a table
-- is empty takes all indexes that start with the project for equally good, and keeps the one it took.

-- One row per agent, moved in place several times per turn. `busy` (live, or with turns waiting) is what the watchdog
-- looks for; being a column of its own, it lets a row that stays busy keep its index entries.
CREATE TABLE state_agent_state_head (
    project_id           text COLLATE "C" NOT NULL,
    agent_id             text COLLATE "C" NOT NULL,
    active_agent_turn_id uuid,
    inbox_id             uuid,
    profile_box_id       uuid,
    context_box_id       uuid,
    output_box_id        uuid,
    last_output_box_id   uuid,
    turn_epoch           bigint NOT NULL,
    output_watermark     bigint,
    depth                bigint,
    dispatched_at        bigint,
    channel_id           text,
    worker_target        text,
    trace_id             text,
    parent_step_id       text,
    status               text   NOT NULL,
    waiting_tool_count   bigint,
    resume_deadline      bigint,
    last_doorbell_at     bigint,
    deliverable_card_id  uuid,
    open_calls           bigint NOT NULL,
    marks                bigint NOT NULL,
    updated_at           bigint NOT NULL,
    queued               bigint NOT NULL,
    busy                 boolean NOT NULL,
    PRIMARY KEY (project_id, agent_id)
) WITH (fillfactor = 50);

CREATE INDEX state_agent_state_head_busy ON state_agent_state_head (project_id, agent_id) WHERE busy;

-- The head as its last move left it (WD-08): the same columns without those that count what waits, which is counted
-- anew when it is needed.
CREATE TABLE state_snapshots (
    project_id           text COLLATE "C" NOT NULL,
    agent_id             text COLLATE "C" NOT NULL,
    active_agent_turn_id uuid,
    inbox_id             uuid,
    profile_box_id       uuid,
    context_box_id       uuid,
    output_box_id        uuid,
    last_output_box_id   uuid,
    turn_epoch           bigint NOT NULL,
    output_watermark     bigint,
    depth                bigint,
    dispatched_at        bigint,
    channel_id           text,
    worker_target        text,
    trace_id             text,
    parent_step_id       text,
    status               text   NOT NULL,
    waiting_tool_count   bigint,
    resume_deadline      bigint,
    last_doorbell_at     bigint,
    deliverable_card_id  uuid,
    open_calls           bigint NOT NULL,
    marks                bigint NOT NULL,
    updated_at           bigint NOT NULL,
    PRIMARY KEY (project_id, agent_id)
) WITH (fillfactor = 50);

-- A row is written, claimed and ended, each time as a new version; the free space keeps them on one page.
CREATE TABLE state_agent_inbox (
    project_id           text COLLATE "C" NOT NULL,
    inbox_id             uuid   NOT NULL,
    seq                  bigint GENERATED ALWAYS AS IDENTITY,
    created_at           bigint NOT NULL,
    agent_turn_id        uuid   NOT NULL,
    agent_id             text COLLATE "C" NOT NULL,
    kind                 text   NOT NULL,
    correlation_id       text COLLATE "C" NOT NULL,
    worker_target        text COLLATE "C" NOT NULL,
    channel_id           text,
    depth                bigint,
    trace_id             text,
    parent_agent_turn_id uuid,
    parent_tool_call_id  text,
    parent_step_id       text,
    output_box_id        uuid,
    payload              text   NOT NULL,
    status               text   NOT NULL,
    turn_epoch           bigint,
    worker_id            text,
    token_hash           bytea,
    processed_at         bigint,
    retry_count          bigint NOT NULL,
    next_retry_at        bigint,
    reason               text,
    task_status          text,
    deliverable_card_id  uuid,
    error                text,
    error_code           text,
    output_from          bigint,
    output_until         bigint,
    ended_at             bigint,
    PRIMARY KEY (project_id, inbox_id)
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX state_agent_inbox_by_turn ON state_agent_inbox (agent_turn_id, project_id) WHERE kind = 'turn';
CREATE INDEX state_agent_inbox_reports ON state_agent_inbox (agent_turn_id, project_id) WHERE kind <> 'turn';
CREATE INDEX state_agent_inbox_by_agent ON state_agent_inbox (agent_id, project_id, seq);
-- What waits behind a live turn.
CREATE INDEX state_agent_inbox_queued ON state_agent_inbox (agent_id, project_id, seq)
    WHERE kind = 'turn' AND status = 'queued';
-- What a worker may claim: over all projects, and of one.
CREATE INDEX state_agent_inbox_claimable_anywhere ON state_agent_inbox (worker_target, seq)
    WHERE status IN ('pending', 'deferred');
CREATE INDEX state_agent_inbox_claimable ON state_agent_inbox (worker_target, project_id, seq)
    WHERE status IN ('pending', 'deferred');
-- What the watchdog looks at, in its order.
CREATE INDEX state_agent_inbox_open ON state_agent_inbox (project_id, inbox_id)
    WHERE status IN ('pending', 'processing', 'deferred');
-- Who writes a box (CB-14).
CREATE INDEX state_agent_inbox_writers ON state_agent_inbox (output_box_id, project_id, agent_id)
    WHERE kind = 'turn' AND status IN ('queued', 'pending', 'processing', 'deferred');

CREATE TABLE state_execution_edges (
    project_id           text COLLATE "C" NOT NULL,
    edge_id              uuid   NOT NULL,
    primitive            text   NOT NULL,
    edge_phase           text   NOT NULL,
    correlation_id       text COLLATE "C" NOT NULL,
    scope                uuid   NOT NULL,
    source_agent_id      text COLLATE "C",
    source_agent_turn_id uuid,
    target_agent_id      text COLLATE "C",
    target_agent_turn_id uuid,
    depth                bigint NOT NULL,
    trace_id             text   NOT NULL,
    parent_step_id       text,
    inbox_id             uuid,
    request_hash         bytea,
    created_at           bigint NOT NULL,
    PRIMARY KEY (project_id, edge_id)
);

CREATE UNIQUE INDEX state_execution_edges_by_correlation
    ON state_execution_edges (correlation_id, project_id, primitive, edge_phase, scope);
CREATE INDEX state_execution_edges_by_source_turn ON state_execution_edges (source_agent_turn_id, project_id)
    WHERE source_agent_turn_id IS NOT NULL;
CREATE INDEX state_execution_edges_by_target_turn ON state_execution_edges (target_agent_turn_id, project_id)
    WHERE target_agent_turn_id IS NOT NULL;
CREATE INDEX state_execution_edges_by_source ON state_execution_edges (source_agent_id, project_id, edge_id)
    WHERE source_agent_id IS NOT NULL;
CREATE INDEX state_execution_edges_by_target ON state_execution_edges (target_agent_id, project_id, edge_id)
    WHERE target_agent_id IS NOT NULL;

CREATE TABLE state_agent_steps (
    project_id     text COLLATE "C" NOT NULL,
    step_id        text COLLATE "C" NOT NULL,
    agent_id       text COLLATE "C" NOT NULL,
    agent_turn_id  uuid   NOT NULL,
    turn_epoch     bigint NOT NULL,
    trace_id       text   NOT NULL,
    created_at     bigint NOT NULL,
    phase          text   NOT NULL,
    status         text,
    call_id        text,
    request_box_id uuid,
    output_len     bigint NOT NULL,
    metadata       text   NOT NULL,
    updated_at     bigint NOT NULL,
    PRIMARY KEY (project_id, step_id)
);

CREATE INDEX state_agent_steps_by_turn ON state_agent_steps (agent_turn_id, project_id);
CREATE INDEX state_agent_steps_by_agent ON state_agent_steps (agent_id, project_id, created_at);

CREATE TABLE state_tool_calls (
    project_id     text COLLATE "C" NOT NULL,
    agent_turn_id  uuid    NOT NULL,
    tool_call_id   text COLLATE "C" NOT NULL,
    agent_id       text COLLATE "C" NOT NULL,
    created_at     bigint  NOT NULL,
    call_card_id   uuid,
    waiting        boolean NOT NULL,
    answer_status  text,
    terminate      boolean,
    answer_card_id uuid,
    answered_at    bigint,
    PRIMARY KEY (project_id, agent_turn_id, tool_call_id),
    CHECK (num_nulls(answer_status, terminate, answer_card_id, answered_at) IN (0, 4))
) WITH (fillfactor = 70);

CREATE TABLE resource_profiles (
    project_id     text COLLATE "C" NOT NULL,
    profile_name   text COLLATE "C" NOT NULL,
    worker_target  text   NOT NULL,
    profile_box_id uuid   NOT NULL,
    card_id        uuid   NOT NULL,
    tags           text[] NOT NULL,
    revision       bigint NOT NULL,
    created_at     bigint NOT NULL,
    updated_at     bigint NOT NULL,
    deleted_at     bigint,
    PRIMARY KEY (project_id, profile_name)
);

CREATE TABLE resource_project_agents (
    project_id     text COLLATE "C" NOT NULL,
    agent_id       text COLLATE "C" NOT NULL,
    profile_name   text   NOT NULL,
    profile_box_id uuid   NOT NULL,
    worker_target  text   NOT NULL,
    display_name   text,
    tags           text[] NOT NULL,
    owner_agent_id text,
    metadata       text   NOT NULL,
    revision       bigint NOT NULL,
    created_at     bigint NOT NULL,
    updated_at     bigint NOT NULL,
    PRIMARY KEY (project_id, agent_id)
);

CREATE TABLE state_identity_edges (
    project_id      text COLLATE "C" NOT NULL,
    edge_id         uuid   NOT NULL,
    action          text   NOT NULL,
    source_agent_id text COLLATE "C",
    target_agent_id text COLLATE "C" NOT NULL,
    channel_id      text   NOT NULL,
    trace_id        text,
    metadata        text   NOT NULL,
    created_at      bigint NOT NULL,
    PRIMARY KEY (project_id, edge_id)
);

CREATE INDEX state_identity_edges_by_source ON state_identity_edges (source_agent_id, project_id, edge_id)
    WHERE source_agent_id IS NOT NULL;
CREATE INDEX state_identity_edges_by_target ON state_identity_edges (target_agent_id, project_id, edge_id);

ALTER TABLE events
    ADD COLUMN agent_turn_id uuid,
    ADD COLUMN batch_id      uuid,
    ADD COLUMN trace_id      text;

-- A turn tells of itself several times, so events are most of what it writes to the log. They are looked for by
-- position, and by `seq` only while they have none: the key over all of them was written twice per event and read
-- by nobody. Room on the page lets the numbered version stay beside the first one.
ALTER TABLE events DROP CONSTRAINT events_pkey;
ALTER TABLE events SET (fillfactor = 50);

-- A box, and an agent for whose output it must be free, or that writes it.
CREATE TYPE cw_output AS (
    box_id   uuid,
    agent_id text
);

-- How a write to a head travels: whose it is, its guard, and from `status` on the new values. `nth` counts the writes
-- to the same head before this one. A nudge uses some of the values: `updated_at`, `last_doorbell_at` and
-- `deliverable_card_id` when not null, and `queued`, `open_calls` and `marks` as what is added; `queued` of a move is
-- added, too.
CREATE TYPE cw_head AS (
    nth                  integer,
    agent_id             text,
    guard_epoch          bigint,
    guard_status         text,
    guard_marks          bigint,
    queued_min           bigint,
    queued_max           bigint,
    status               text,
    turn_epoch           bigint,
    active_agent_turn_id uuid,
    inbox_id             uuid,
    channel_id           text,
    worker_target        text,
    profile_box_id       uuid,
    context_box_id       uuid,
    output_box_id        uuid,
    last_output_box_id   uuid,
    output_watermark     bigint,
    depth                bigint,
    trace_id             text,
    parent_step_id       text,
    waiting_tool_count   bigint,
    resume_deadline      bigint,
    dispatched_at        bigint,
    last_doorbell_at     bigint,
    deliverable_card_id  uuid,
    open_calls           bigint,
    marks                bigint,
    queued               bigint,
    updated_at           bigint
);

-- How new values for an inbox row travel. `nth` as above.
CREATE TYPE cw_inbox_update AS (
    nth                 integer,
    inbox_id            uuid,
    from_status         text,
    status              text,
    turn_epoch          bigint,
    worker_id           text,
    token_hash          bytea,
    processed_at        bigint,
    retry_count         bigint,
    next_retry_at       bigint,
    reason              text,
    task_status         text,
    deliverable_card_id uuid,
    error               text,
    error_code          text,
    output_from         bigint,
    output_until        bigint,
    ended_at            bigint
);

-- What a decision needs to know of a card.
CREATE TYPE cw_card_fact AS (
    card_id      uuid,
    fact_hash    bytea,
    kind         text,
    tool_call_id text,
    author_id    text,
    deleted_at   bigint,
    expires_at   bigint
);

-- What cw_load answers: a snapshot, row by row.
CREATE TYPE cw_snapshot AS (
    project         resource_projects,
    cards           cw_card_fact[],
    boxes           card_boxes[],
    members         uuid[],
    token           tokens,
    answer          answers,
    agent           resource_project_agents,
    head            state_agent_state_head,
    turn            state_agent_inbox,
    calls           state_tool_calls[],
    reports         state_agent_inbox[],
    next            state_agent_inbox[],
    depth           bigint,
    inbox           state_agent_inbox,
    edge            state_execution_edges,
    step            state_agent_steps,
    writers         cw_output[],
    profile         resource_profiles,
    is_lost         boolean,
    lost_copy       state_agent_state_head,
    lost_epoch      bigint,
    lost_turn       state_agent_inbox,
    lost_output_box uuid,
    lost_queued     bigint
);
