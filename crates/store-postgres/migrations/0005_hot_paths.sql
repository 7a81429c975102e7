-- What turns cost. A load is a plain statement now, no value of a function; heads and inbox rows that are written once
-- in a commit are written with one statement for all of them.

-- Readers of one agent's events follow the log and pass over the rest, as on the other backend: a turn paid for this
-- index several times.
DROP INDEX events_by_agent;

DROP TYPE cw_snapshot, cw_head, cw_inbox_update CASCADE;

-- What is known of an agent whose head is missing.
CREATE TYPE cw_lost AS (
    copy          state_agent_state_head,
    turn_epoch    bigint,
    open_turn     state_agent_inbox,
    output_box_id uuid,
    queued        bigint
);

-- How a write to a head travels: what it is (create, move, nudge), whose, its guard, and from `status` on the new
-- values. A nudge uses some of the values: `updated_at`, `last_doorbell_at` and `deliverable_card_id` when not null,
-- and `queued`, `open_calls` and `marks` as what is added; `queued` of a move is added, too.
CREATE TYPE cw_head AS (
    op                   text,
    project_id           text,
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

-- How new values for an inbox row travel.
CREATE TYPE cw_inbox_update AS (
    op                  text,
    project_id          text,
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
