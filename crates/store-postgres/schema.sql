-- The schema as a whole, for reading. Made from the migrations (UPDATE_SCHEMA=1, tests/it/schema.rs) and
-- proven equal to them by the same test; the program never runs it.

CREATE TYPE public.cw_append AS (
	box_id uuid,
	generation bigint,
	min_len bigint,
	max_len bigint,
	cards uuid[]
);

ALTER TYPE public.cw_append OWNER TO cardwire_owner;

CREATE TYPE public.cw_batch_change AS (
	op text,
	project_id text,
	batch_id uuid,
	from_closing text,
	closes boolean,
	status text,
	closing text,
	result_card_id uuid,
	closed_at bigint
);

ALTER TYPE public.cw_batch_change OWNER TO cardwire_owner;

CREATE TYPE public.cw_batch_lock AS (
	batch_id uuid,
	exclusive boolean
);

ALTER TYPE public.cw_batch_lock OWNER TO cardwire_owner;

CREATE TYPE public.cw_branch AS (
	op text,
	project_id text,
	batch_id uuid,
	task_index bigint,
	from_status text,
	created_at bigint,
	agent_id text,
	agent_turn_id uuid,
	turn_epoch bigint,
	context_box_id uuid,
	output_box_id uuid,
	attempts bigint,
	next_attempt_at bigint,
	warning text,
	status text,
	deliverable_card_id uuid,
	error_detail text,
	error_code text,
	updated_at bigint
);

ALTER TYPE public.cw_branch OWNER TO cardwire_owner;

CREATE TYPE public.cw_card_fact AS (
	card_id uuid,
	fact_hash bytea,
	kind text,
	tool_call_id text,
	author_id text,
	deleted_at bigint,
	expires_at bigint,
	origin text
);

ALTER TYPE public.cw_card_fact OWNER TO cardwire_owner;

CREATE TYPE public.cw_event_item AS (
	event_id uuid,
	kind text,
	target text,
	channel text,
	agent_id text COLLATE pg_catalog."C",
	data text,
	at bigint,
	agent_turn_id uuid,
	batch_id uuid,
	trace_id text
);

ALTER TYPE public.cw_event_item OWNER TO cardwire_owner;

CREATE TYPE public.cw_head AS (
	op text,
	project_id text,
	agent_id text,
	guard_epoch bigint,
	guard_status text,
	guard_marks bigint,
	queued_min bigint,
	queued_max bigint,
	status text,
	turn_epoch bigint,
	active_agent_turn_id uuid,
	inbox_id uuid,
	channel_id text,
	worker_target text,
	profile_box_id uuid,
	context_box_id uuid,
	output_box_id uuid,
	last_output_box_id uuid,
	output_watermark bigint,
	depth bigint,
	trace_id text,
	parent_step_id text,
	waiting_tool_count bigint,
	resume_deadline bigint,
	dispatched_at bigint,
	last_doorbell_at bigint,
	deliverable_card_id uuid,
	open_calls bigint,
	marks bigint,
	queued bigint,
	updated_at bigint,
	guard_revision bigint
);

ALTER TYPE public.cw_head OWNER TO cardwire_owner;

CREATE TYPE public.cw_inbox_update AS (
	op text,
	project_id text,
	inbox_id uuid,
	from_status text,
	status text,
	turn_epoch bigint,
	worker_id text,
	token_hash bytea,
	processed_at bigint,
	retry_count bigint,
	next_retry_at bigint,
	reason text,
	task_status text,
	deliverable_card_id uuid,
	error text,
	error_code text,
	output_from bigint,
	output_until bigint,
	ended_at bigint
);

ALTER TYPE public.cw_inbox_update OWNER TO cardwire_owner;

CREATE TABLE public.state_agent_inbox (
    project_id text NOT NULL COLLATE pg_catalog."C",
    inbox_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at bigint NOT NULL,
    agent_turn_id uuid NOT NULL,
    agent_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    correlation_id text NOT NULL COLLATE pg_catalog."C",
    worker_target text NOT NULL COLLATE pg_catalog."C",
    channel_id text,
    depth bigint,
    trace_id text,
    parent_agent_turn_id uuid,
    parent_tool_call_id text,
    parent_step_id text,
    output_box_id uuid,
    payload text NOT NULL,
    status text NOT NULL,
    turn_epoch bigint,
    worker_id text,
    token_hash bytea,
    processed_at bigint,
    retry_count bigint NOT NULL,
    next_retry_at bigint,
    reason text,
    task_status text,
    deliverable_card_id uuid,
    error text,
    error_code text,
    output_from bigint,
    output_until bigint,
    ended_at bigint,
    batch_id uuid,
    task_index bigint
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.state_agent_inbox FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_agent_inbox OWNER TO cardwire_owner;

CREATE TABLE public.state_agent_state_head (
    project_id text NOT NULL COLLATE pg_catalog."C",
    agent_id text NOT NULL COLLATE pg_catalog."C",
    active_agent_turn_id uuid,
    inbox_id uuid,
    profile_box_id uuid,
    context_box_id uuid,
    output_box_id uuid,
    last_output_box_id uuid,
    turn_epoch bigint NOT NULL,
    output_watermark bigint,
    depth bigint,
    dispatched_at bigint,
    channel_id text,
    worker_target text,
    trace_id text,
    parent_step_id text,
    status text NOT NULL,
    waiting_tool_count bigint,
    resume_deadline bigint,
    last_doorbell_at bigint,
    deliverable_card_id uuid,
    open_calls bigint NOT NULL,
    marks bigint NOT NULL,
    updated_at bigint NOT NULL,
    queued bigint NOT NULL,
    busy boolean NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.state_agent_state_head FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_agent_state_head OWNER TO cardwire_owner;

CREATE TYPE public.cw_lost AS (
	copy public.state_agent_state_head,
	turn_epoch bigint,
	open_turn public.state_agent_inbox,
	output_box_id uuid,
	queued bigint
);

ALTER TYPE public.cw_lost OWNER TO cardwire_owner;

CREATE TYPE public.cw_output AS (
	box_id uuid,
	agent_id text
);

ALTER TYPE public.cw_output OWNER TO cardwire_owner;

CREATE TYPE public.cw_passage AS (
	project_id text,
	kind text,
	namespace text,
	source text,
	part bigint,
	card_id uuid,
	content_hash bytea,
	terms text,
	embedding bytea,
	created_at bigint,
	lexemes text
);

ALTER TYPE public.cw_passage OWNER TO cardwire_owner;

CREATE TYPE public.cw_source AS (
	project_id text,
	kind text,
	namespace text,
	source text
);

ALTER TYPE public.cw_source OWNER TO cardwire_owner;

CREATE TYPE public.cw_passage_writes AS (
	shelves text[],
	dropped public.cw_source[],
	passages public.cw_passage[]
);

ALTER TYPE public.cw_passage_writes OWNER TO cardwire_owner;

CREATE TYPE public.cw_spending AS (
	root_agent_turn_id uuid,
	turns bigint,
	most bigint
);

ALTER TYPE public.cw_spending OWNER TO cardwire_owner;

CREATE TABLE public.state_box_grants (
    project_id text NOT NULL COLLATE pg_catalog."C",
    agent_id text NOT NULL COLLATE pg_catalog."C",
    box_id uuid NOT NULL,
    created_at bigint NOT NULL
);

ALTER TABLE ONLY public.state_box_grants FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_box_grants OWNER TO cardwire_owner;

CREATE TABLE public.state_pmo_batches (
    project_id text NOT NULL COLLATE pg_catalog."C",
    batch_id uuid NOT NULL,
    parent_agent_id text NOT NULL COLLATE pg_catalog."C",
    parent_agent_turn_id uuid,
    parent_turn_epoch bigint,
    parent_tool_call_id text NOT NULL,
    channel_id text NOT NULL,
    trace_id text NOT NULL,
    depth bigint NOT NULL,
    task_count bigint NOT NULL,
    fail_fast boolean NOT NULL,
    enough bigint NOT NULL,
    parallel bigint NOT NULL,
    result_tokens bigint NOT NULL,
    deadline_at bigint,
    created_at bigint NOT NULL,
    status text NOT NULL,
    closing text,
    result_card_id uuid,
    closed_at bigint,
    parent_step_id text
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.state_pmo_batches FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_batches OWNER TO cardwire_owner;

CREATE TABLE public.state_pmo_sweeps (
    project_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    subject_id uuid NOT NULL
);

ALTER TABLE ONLY public.state_pmo_sweeps FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_sweeps OWNER TO cardwire_owner;

CREATE TYPE public.cw_pmo_writes AS (
	locks public.cw_batch_lock[],
	batches public.state_pmo_batches[],
	added public.cw_branch[],
	moved public.cw_branch[],
	ended public.cw_branch[],
	more public.cw_branch[],
	changes public.cw_batch_change[],
	sweeps public.state_pmo_sweeps[],
	done_sweeps public.state_pmo_sweeps[],
	grants public.state_box_grants[],
	spends public.cw_spending[]
);

ALTER TYPE public.cw_pmo_writes OWNER TO cardwire_owner;

CREATE TYPE public.cw_session AS (
	project_id text,
	namespace text,
	session_id text,
	was bigint,
	version bigint,
	checkpoint_card_id uuid,
	created_at bigint,
	updated_at bigint,
	deleted_at bigint
);

ALTER TYPE public.cw_session OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_add_branch(in_branches public.cw_branch[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_pmo_batch_tasks (project_id, batch_id, task_index, created_at, agent_id, agent_turn_id,
        turn_epoch, context_box_id, output_box_id, attempts, next_attempt_at, warning, status, deliverable_card_id,
        error_detail, error_code, updated_at)
    SELECT project_id, batch_id, task_index, created_at, agent_id, agent_turn_id, turn_epoch, context_box_id,
        output_box_id, attempts, next_attempt_at, warning, status, deliverable_card_id, error_detail, error_code,
        updated_at
    FROM unnest(in_branches);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_add_branch(in_branches public.cw_branch[]) OWNER TO cardwire_owner;

CREATE TABLE public.state_execution_edges (
    project_id text NOT NULL COLLATE pg_catalog."C",
    edge_id uuid NOT NULL,
    primitive text NOT NULL,
    edge_phase text NOT NULL,
    correlation_id text NOT NULL COLLATE pg_catalog."C",
    scope uuid NOT NULL,
    source_agent_id text COLLATE pg_catalog."C",
    source_agent_turn_id uuid,
    target_agent_id text COLLATE pg_catalog."C",
    target_agent_turn_id uuid,
    depth bigint NOT NULL,
    trace_id text NOT NULL,
    parent_step_id text,
    inbox_id uuid,
    request_hash bytea,
    created_at bigint NOT NULL
);

ALTER TABLE ONLY public.state_execution_edges FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_execution_edges OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_add_edge(in_edges public.state_execution_edges[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_execution_edges SELECT * FROM unnest(in_edges);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_add_edge(in_edges public.state_execution_edges[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_add_grant(in_grants public.state_box_grants[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_box_grants SELECT * FROM unnest(in_grants) ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_add_grant(in_grants public.state_box_grants[]) OWNER TO cardwire_owner;

CREATE TABLE public.state_identity_edges (
    project_id text NOT NULL COLLATE pg_catalog."C",
    edge_id uuid NOT NULL,
    action text NOT NULL,
    source_agent_id text COLLATE pg_catalog."C",
    target_agent_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL,
    trace_id text,
    metadata text NOT NULL,
    created_at bigint NOT NULL,
    parent_step_id text
);

ALTER TABLE ONLY public.state_identity_edges FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_identity_edges OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_add_identity_edge(in_edges public.state_identity_edges[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_identity_edges SELECT * FROM unnest(in_edges);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_add_identity_edge(in_edges public.state_identity_edges[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_add_snapshot(in_heads public.cw_head[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_snapshots (project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at)
    SELECT project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id, context_box_id, output_box_id,
        last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at, channel_id, worker_target, trace_id,
        parent_step_id, status, waiting_tool_count, resume_deadline, last_doorbell_at, deliverable_card_id,
        open_calls, marks, updated_at
    FROM unnest(in_heads)
    WHERE op IN ('create', 'move')
    ON CONFLICT (project_id, agent_id) DO NOTHING;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_add_snapshot(in_heads public.cw_head[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_add_sweep(in_sweeps public.state_pmo_sweeps[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_pmo_sweeps SELECT * FROM unnest(in_sweeps) ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_add_sweep(in_sweeps public.state_pmo_sweeps[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_append_cards(in_project text, in_appends public.cw_append[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_append;
    added bigint;
    first_seq bigint;
    firsts bigint[];
BEGIN
    FOREACH item IN ARRAY in_appends LOOP
        added := cardinality(item.cards);
        UPDATE card_boxes
        SET len = len + added, entries = entries + added
        WHERE project_id = in_project AND box_id = item.box_id AND generation = item.generation AND NOT sealed
            AND len BETWEEN item.min_len AND item.max_len
        RETURNING entries - added INTO first_seq;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
        firsts := firsts || first_seq;
    END LOOP;
    INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, source)
    SELECT in_project, a.box_id, a.generation, firsts[a.number] + c.place - 1, c.card_id, 'direct'
    FROM unnest(in_appends) WITH ORDINALITY AS a (box_id, generation, min_len, max_len, cards, number),
        unnest(a.cards) WITH ORDINALITY AS c (card_id, place);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_append_cards(in_project text, in_appends public.cw_append[]) OWNER TO cardwire_owner;

CREATE TABLE public.audit (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    verdict text NOT NULL,
    detail text NOT NULL,
    at bigint NOT NULL,
    "position" bigint,
    hash bytea,
    CONSTRAINT audit_check CHECK ((("position" IS NULL) = (hash IS NULL)))
);

ALTER TABLE ONLY public.audit FORCE ROW LEVEL SECURITY;

ALTER TABLE public.audit OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_audit(in_rows public.audit[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
    SELECT r.project_id, r.actor, r.action, r.subject, r.verdict, r.detail, r.at FROM unnest(in_rows) AS r;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_audit(in_rows public.audit[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_box_entry(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO box_entries (project_id, box_id, generation, seq, card_id, segment_box, segment_generation,
        segment_len, source, rule)
    SELECT in_project, b.box_id, b.generation, i.place - 1, i.card_id, i.segment_box, i.segment_generation,
        i.segment_len, i.source, i.rule
    FROM jsonb_to_recordset(in_rows) AS b (box_id uuid, generation bigint, items jsonb),
        ROWS FROM (jsonb_to_recordset(b.items) AS (
            card_id uuid, segment_box uuid, segment_generation bigint, segment_len bigint, source text, rule integer))
        WITH ORDINALITY AS i (card_id, segment_box, segment_generation, segment_len, source, rule, place);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_box_entry(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_branches(in_branches public.cw_branch[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_branch;
    done boolean;
BEGIN
    FOREACH item IN ARRAY in_branches LOOP
        IF item.op = 'end' THEN
            done := cw_end_branch(ARRAY[item]);
        ELSIF item.op = 'move' THEN
            done := cw_move_branch(ARRAY[item]);
        ELSE
            done := cw_add_branch(ARRAY[item]);
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_branches(in_branches public.cw_branch[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_chain_at(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    head_position bigint;
    head_hash bytea;
BEGIN
    SELECT a.position, a.hash INTO head_position, head_hash
    FROM audit a
    WHERE a.project_id = in_project AND a.position IS NOT NULL
    ORDER BY a.position DESC
    LIMIT 1;
    IF NOT FOUND THEN
        head_position := 0;
        head_hash := decode(repeat('00', 32), 'hex');
    END IF;
    IF EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(in_rows) AS r (position bigint, hash text)
        WHERE r.position <> head_position OR decode(r.hash, 'hex') <> head_hash)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_chain_at(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_close_batch(in_changes public.cw_batch_change[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE state_pmo_batches b
    SET status = u.status, closing = u.closing,
        result_card_id = CASE WHEN u.closes THEN u.result_card_id ELSE b.result_card_id END,
        closed_at = CASE WHEN u.closes THEN u.closed_at ELSE b.closed_at END
    FROM unnest(in_changes) AS u
    WHERE u.op = 'change' AND b.project_id = u.project_id AND b.batch_id = u.batch_id
        AND b.status = 'running' AND b.closing IS NOT DISTINCT FROM u.from_closing;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> cardinality(in_changes) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'batch';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_close_batch(in_changes public.cw_batch_change[]) OWNER TO cardwire_owner;

CREATE TABLE public.box_entries (
    project_id text NOT NULL COLLATE pg_catalog."C",
    box_id uuid NOT NULL,
    generation bigint NOT NULL,
    seq bigint NOT NULL,
    card_id uuid,
    segment_box uuid,
    segment_generation bigint,
    segment_len bigint,
    source text NOT NULL,
    rule integer,
    CONSTRAINT box_entries_check CHECK (((card_id IS NULL) = (segment_box IS NOT NULL)))
);

ALTER TABLE ONLY public.box_entries FORCE ROW LEVEL SECURITY;

ALTER TABLE public.box_entries OWNER TO cardwire_owner;

CREATE TABLE public.card_boxes (
    project_id text NOT NULL COLLATE pg_catalog."C",
    box_id uuid NOT NULL,
    generation bigint NOT NULL,
    len bigint NOT NULL,
    entries bigint NOT NULL,
    depth integer NOT NULL,
    sealed boolean NOT NULL,
    handover_hash bytea,
    created_at bigint NOT NULL
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.card_boxes FORCE ROW LEVEL SECURITY;

ALTER TABLE public.card_boxes OWNER TO cardwire_owner;

CREATE TABLE public.cards (
    project_id text NOT NULL COLLATE pg_catalog."C",
    card_id uuid NOT NULL,
    kind text NOT NULL,
    role text NOT NULL,
    author_id text,
    content text NOT NULL,
    content_hash bytea NOT NULL,
    fact_hash bytea NOT NULL,
    tokens bigint NOT NULL,
    tool_calls text,
    tool_call_id text,
    metadata text NOT NULL,
    origin text NOT NULL,
    credential boolean NOT NULL,
    ttl_seconds bigint,
    expires_at bigint,
    deleted_at bigint,
    created_at bigint NOT NULL
);

ALTER TABLE ONLY public.cards FORCE ROW LEVEL SECURITY;

ALTER TABLE public.cards OWNER TO cardwire_owner;

CREATE TABLE public.events (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    last_position bigint,
    item_count bigint NOT NULL,
    items public.cw_event_item[] NOT NULL
);

ALTER TABLE ONLY public.events FORCE ROW LEVEL SECURITY;

ALTER TABLE public.events OWNER TO cardwire_owner;

CREATE TABLE public.resource_project_agents (
    project_id text NOT NULL COLLATE pg_catalog."C",
    agent_id text NOT NULL COLLATE pg_catalog."C",
    profile_name text NOT NULL,
    profile_box_id uuid NOT NULL,
    worker_target text NOT NULL,
    display_name text,
    tags text[] NOT NULL,
    owner_agent_id text,
    metadata text NOT NULL,
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

ALTER TABLE ONLY public.resource_project_agents FORCE ROW LEVEL SECURITY;

ALTER TABLE public.resource_project_agents OWNER TO cardwire_owner;

CREATE TABLE public.state_agent_steps (
    project_id text NOT NULL COLLATE pg_catalog."C",
    step_id text NOT NULL COLLATE pg_catalog."C",
    agent_id text NOT NULL COLLATE pg_catalog."C",
    agent_turn_id uuid NOT NULL,
    turn_epoch bigint NOT NULL,
    trace_id text NOT NULL,
    created_at bigint NOT NULL,
    phase text NOT NULL,
    status text,
    call_id text,
    request_box_id uuid,
    output_len bigint NOT NULL,
    metadata text NOT NULL,
    updated_at bigint NOT NULL
);

ALTER TABLE ONLY public.state_agent_steps FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_agent_steps OWNER TO cardwire_owner;

CREATE TABLE public.state_sessions (
    project_id text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    checkpoint_card_id uuid NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.state_sessions FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_sessions OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_commit(in_project text, in_boxes uuid[], in_outputs public.cw_output[], in_new_boxes public.card_boxes[], in_entries public.box_entries[], in_cards public.cards[], in_appends public.cw_append[], in_agents text[], in_moves public.cw_head[], in_copied integer, in_new_heads public.cw_head[], in_heads public.cw_head[], in_pmo public.cw_pmo_writes, in_new_sessions public.state_sessions[], in_sessions public.cw_session[], in_inbox public.state_agent_inbox[], in_inbox_updates public.cw_inbox_update[], in_more_inbox_updates public.cw_inbox_update[], in_edges public.state_execution_edges[], in_steps public.state_agent_steps[], in_step_updates public.state_agent_steps[], in_new_agents public.resource_project_agents[], in_identity_edges public.state_identity_edges[], in_seals public.audit[], in_audit public.audit[], in_passages public.cw_passage_writes, in_events public.events[], in_rest jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    tenant text;
    done boolean;
    item cw_inbox_update;
    stage jsonb;
BEGIN
    tenant := set_config('cardwire.project', in_project, true);
    IF in_rest IS NOT NULL THEN
        done := cw_expect(in_project, in_rest);
    END IF;
    IF in_boxes IS NOT NULL THEN
        done := cw_lock_boxes(in_project, in_boxes);
        IF in_outputs IS NOT NULL THEN
            done := cw_output_free(in_project, in_outputs);
        END IF;
        IF in_rest ? 'open_box' THEN
            done := cw_open_box(in_project, in_rest -> 'open_box');
        END IF;
    END IF;
    IF in_appends IS NOT NULL THEN
        done := cw_append_cards(in_project, in_appends);
    END IF;
    IF in_cards IS NOT NULL THEN
        done := cw_put_card(in_cards);
    END IF;
    IF in_agents IS NOT NULL THEN
        done := cw_lock_heads(in_project, in_agents);
    END IF;
    IF in_moves IS NOT NULL THEN
        done := cw_move_head(in_moves, in_copied);
    END IF;
    IF in_new_heads IS NOT NULL THEN
        done := cw_create_head(in_new_heads);
    END IF;
    IF in_heads IS NOT NULL THEN
        done := cw_heads(in_project, in_heads);
    END IF;
    -- What is neither null nor all nulls; `IS NOT NULL` would ask for a value in every field.
    IF NOT in_pmo IS NULL THEN
        done := cw_pmo(in_project, in_pmo);
    END IF;
    IF in_new_sessions IS NOT NULL THEN
        done := cw_create_session(in_new_sessions);
    END IF;
    IF in_sessions IS NOT NULL THEN
        done := cw_update_session(in_sessions);
    END IF;
    IF in_inbox IS NOT NULL THEN
        done := cw_enqueue(in_inbox);
    END IF;
    IF in_inbox_updates IS NOT NULL THEN
        done := cw_update_inbox(in_inbox_updates);
    END IF;
    IF in_more_inbox_updates IS NOT NULL THEN
        FOREACH item IN ARRAY in_more_inbox_updates LOOP
            done := cw_update_inbox(ARRAY[item]);
        END LOOP;
    END IF;
    IF in_edges IS NOT NULL THEN
        done := cw_add_edge(in_edges);
    END IF;
    IF in_steps IS NOT NULL THEN
        done := cw_create_step(in_steps);
    END IF;
    IF in_step_updates IS NOT NULL THEN
        done := cw_update_step(in_project, in_step_updates);
    END IF;
    IF in_new_boxes IS NOT NULL OR in_entries IS NOT NULL THEN
        done := cw_create_boxes(in_new_boxes, in_entries);
    END IF;
    IF in_new_agents IS NOT NULL THEN
        done := cw_create_agent(in_new_agents);
    END IF;
    IF in_identity_edges IS NOT NULL THEN
        done := cw_add_identity_edge(in_identity_edges);
    END IF;
    IF in_seals IS NOT NULL THEN
        done := cw_seal_audit(in_project, in_seals);
    END IF;
    IF in_audit IS NOT NULL THEN
        done := cw_audit(in_audit);
    END IF;
    IF in_rest IS NOT NULL THEN
        done := cw_rest(in_project, in_rest);
        FOR stage IN SELECT value FROM jsonb_array_elements(in_rest -> 'then') LOOP
            done := cw_expect(in_project, stage);
            done := cw_rest(in_project, stage);
        END LOOP;
    END IF;
    IF NOT in_passages IS NULL THEN
        done := cw_passages(in_project, in_passages);
    END IF;
    IF in_events IS NOT NULL THEN
        done := cw_event(in_events);
    END IF;
END
$$;

ALTER FUNCTION public.cw_commit(in_project text, in_boxes uuid[], in_outputs public.cw_output[], in_new_boxes public.card_boxes[], in_entries public.box_entries[], in_cards public.cards[], in_appends public.cw_append[], in_agents text[], in_moves public.cw_head[], in_copied integer, in_new_heads public.cw_head[], in_heads public.cw_head[], in_pmo public.cw_pmo_writes, in_new_sessions public.state_sessions[], in_sessions public.cw_session[], in_inbox public.state_agent_inbox[], in_inbox_updates public.cw_inbox_update[], in_more_inbox_updates public.cw_inbox_update[], in_edges public.state_execution_edges[], in_steps public.state_agent_steps[], in_step_updates public.state_agent_steps[], in_new_agents public.resource_project_agents[], in_identity_edges public.state_identity_edges[], in_seals public.audit[], in_audit public.audit[], in_passages public.cw_passage_writes, in_events public.events[], in_rest jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_count_deletion(in_project text, in_count integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE resource_projects SET deletions = deletions + in_count WHERE project_id = in_project;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_count_deletion(in_project text, in_count integer) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_agent(in_agents public.resource_project_agents[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO resource_project_agents SELECT * FROM unnest(in_agents);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_agent(in_agents public.resource_project_agents[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_batch(in_batches public.state_pmo_batches[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_pmo_batches SELECT * FROM unnest(in_batches);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_batch(in_batches public.state_pmo_batches[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_box(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO card_boxes (project_id, box_id, generation, len, entries, depth, sealed, handover_hash, created_at)
    SELECT in_project, box_id, generation, len, entries, depth, sealed, decode(handover_hash, 'hex'), created_at
    FROM jsonb_to_recordset(in_rows) AS r (
        box_id uuid, generation bigint, len bigint, entries bigint, depth integer, sealed boolean,
        handover_hash text, created_at bigint)
    ORDER BY box_id;
    RETURN cw_box_entry(in_project, in_rows);
END
$$;

ALTER FUNCTION public.cw_create_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_boxes(in_boxes public.card_boxes[], in_entries public.box_entries[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF in_boxes IS NOT NULL THEN
        INSERT INTO card_boxes SELECT * FROM unnest(in_boxes);
    END IF;
    IF in_entries IS NOT NULL THEN
        INSERT INTO box_entries SELECT * FROM unnest(in_entries);
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_boxes(in_boxes public.card_boxes[], in_entries public.box_entries[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_head(in_heads public.cw_head[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    copied integer;
    newer integer;
BEGIN
    INSERT INTO state_agent_state_head (project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id,
        context_box_id, output_box_id, last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at,
        channel_id, worker_target, trace_id, parent_step_id, status, waiting_tool_count, resume_deadline,
        last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at, queued, busy)
    SELECT project_id, agent_id, active_agent_turn_id, inbox_id, profile_box_id, context_box_id, output_box_id,
        last_output_box_id, turn_epoch, output_watermark, depth, dispatched_at, channel_id, worker_target, trace_id,
        parent_step_id, status, waiting_tool_count, resume_deadline, last_doorbell_at, deliverable_card_id,
        open_calls, marks, updated_at, queued, status <> 'idle' OR queued > 0
    FROM unnest(in_heads);
    SELECT count(*), count(*) FILTER (
        WHERE s.turn_epoch > u.turn_epoch OR s.turn_epoch = u.turn_epoch AND u.status <> 'idle')
    INTO copied, newer
    FROM unnest(in_heads) AS u
    JOIN state_snapshots s ON s.project_id = u.project_id AND s.agent_id = u.agent_id
    WHERE u.op = 'create';
    IF newer > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    IF copied = 0 THEN
        RETURN cw_add_snapshot(in_heads);
    END IF;
    RETURN cw_put_snapshot(in_heads, cardinality(in_heads));
END
$$;

ALTER FUNCTION public.cw_create_head(in_heads public.cw_head[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_project(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO resource_projects (project_id, title, settings, revision, deletions, created_at, updated_at, deleted_at)
    SELECT project_id, title, settings, revision, deletions, created_at, updated_at, deleted_at
    FROM jsonb_to_recordset(in_rows) AS r (
        project_id text, title text, settings text, revision bigint, deletions bigint,
        created_at bigint, updated_at bigint, deleted_at bigint);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_project(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_session(in_sessions public.state_sessions[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_sessions SELECT * FROM unnest(in_sessions);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_session(in_sessions public.state_sessions[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_step(in_steps public.state_agent_steps[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_agent_steps SELECT * FROM unnest(in_steps);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_step(in_steps public.state_agent_steps[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_create_token(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO tokens (project_id, token_id, secret_hash, scopes, created_at, expires_at, revoked_at)
    SELECT in_project, token_id, decode(secret_hash, 'hex'), scopes, created_at, expires_at, revoked_at
    FROM jsonb_to_recordset(in_rows) AS r (
        token_id uuid, secret_hash text, scopes text, created_at bigint, expires_at bigint, revoked_at bigint)
    ORDER BY token_id;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_create_token(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT r.card_id, r.at FROM jsonb_to_recordset(in_rows) AS r (card_id uuid, at bigint) LOOP
        UPDATE cards
        SET deleted_at = item.at
        WHERE project_id = in_project AND card_id = item.card_id AND deleted_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'card';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_drop_passages(in_sources public.cw_source[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_source;
BEGIN
    FOREACH item IN ARRAY in_sources LOOP
        DELETE FROM resource_passages
        WHERE project_id = item.project_id AND kind = item.kind AND namespace = item.namespace
            AND source = item.source;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_drop_passages(in_sources public.cw_source[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_end_branch(in_branches public.cw_branch[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE state_pmo_batch_tasks t
    SET status = u.status, deliverable_card_id = u.deliverable_card_id, error_detail = u.error_detail,
        error_code = u.error_code, updated_at = u.updated_at
    FROM unnest(in_branches) AS u
    WHERE u.op = 'end' AND t.project_id = u.project_id AND t.batch_id = u.batch_id AND t.task_index = u.task_index
        AND t.status IN ('pending', 'dispatched')
        AND (
            SELECT b.status = 'running' AND b.closing IS NULL
            FROM state_pmo_batches b
            WHERE b.project_id = u.project_id AND b.batch_id = u.batch_id);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_end_branch(in_branches public.cw_branch[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_end_sweep(in_sweeps public.state_pmo_sweeps[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item state_pmo_sweeps;
BEGIN
    FOREACH item IN ARRAY in_sweeps LOOP
        DELETE FROM state_pmo_sweeps
        WHERE project_id = item.project_id AND scope = item.scope AND subject_id = item.subject_id;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_end_sweep(in_sweeps public.state_pmo_sweeps[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_enqueue(in_items public.state_agent_inbox[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_agent_inbox (project_id, inbox_id, created_at, agent_turn_id, agent_id, kind, correlation_id,
        worker_target, channel_id, depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id,
        output_box_id, payload, status, turn_epoch, worker_id, token_hash, processed_at, retry_count,
        next_retry_at, reason, task_status, deliverable_card_id, error, error_code, output_from, output_until,
        ended_at, batch_id, task_index)
    SELECT project_id, inbox_id, created_at, agent_turn_id, agent_id, kind, correlation_id,
        worker_target, channel_id, depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id,
        output_box_id, payload, status, turn_epoch, worker_id, token_hash, processed_at, retry_count,
        next_retry_at, reason, task_status, deliverable_card_id, error, error_code, output_from, output_until,
        ended_at, batch_id, task_index
    FROM unnest(in_items);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_enqueue(in_items public.state_agent_inbox[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_event(in_groups public.events[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO events (project_id, item_count, items)
    SELECT project_id, item_count, items
    FROM unnest(in_groups);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_event(in_groups public.events[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_expect(in_project text, in_rest jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    done boolean;
BEGIN
    IF in_rest ? 'project_at' THEN
        done := cw_project_at(in_project, in_rest -> 'project_at', in_rest ?| ARRAY['update_project', 'delete_card']);
    END IF;
    IF in_rest ? 'open_turns' THEN
        done := cw_open_turns(in_project, in_rest -> 'open_turns');
    END IF;
    IF in_rest ? 'create_project' THEN
        done := cw_create_project(in_project, in_rest -> 'create_project');
    END IF;
    IF in_rest ? 'update_project' THEN
        done := cw_update_project(in_project, in_rest -> 'update_project');
    END IF;
    IF in_rest ? 'delete_card' THEN
        done := cw_count_deletion(in_project, jsonb_array_length(in_rest -> 'delete_card'));
    END IF;
    IF in_rest ? 'chain_at' THEN
        done := cw_chain_at(in_project, in_rest -> 'chain_at');
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_expect(in_project text, in_rest jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_heads(in_project text, in_heads public.cw_head[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_head;
    done boolean;
BEGIN
    FOREACH item IN ARRAY in_heads LOOP
        IF item.op = 'move' THEN
            done := cw_move_head(ARRAY[item], 1);
        ELSIF item.op = 'stay' THEN
            done := cw_move_head(ARRAY[item], 0);
        ELSIF item.op = 'nudge' THEN
            done := cw_nudge_head(in_project, item);
        ELSE
            done := cw_create_head(ARRAY[item]);
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_heads(in_project text, in_heads public.cw_head[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_lock_batches(in_project text, in_locks public.cw_batch_lock[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_batch_lock;
BEGIN
    FOREACH item IN ARRAY in_locks LOOP
        IF item.exclusive THEN
            PERFORM 1
            FROM state_pmo_batches
            WHERE project_id = in_project AND batch_id = item.batch_id
            FOR NO KEY UPDATE;
        ELSE
            PERFORM 1 FROM state_pmo_batches WHERE project_id = in_project AND batch_id = item.batch_id FOR SHARE;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_lock_batches(in_project text, in_locks public.cw_batch_lock[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_lock_boxes(in_project text, in_boxes uuid[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item uuid;
BEGIN
    FOREACH item IN ARRAY in_boxes LOOP
        PERFORM 1 FROM card_boxes WHERE project_id = in_project AND box_id = item FOR UPDATE;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_lock_boxes(in_project text, in_boxes uuid[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_lock_heads(in_project text, in_agents text[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item text;
BEGIN
    FOREACH item IN ARRAY in_agents LOOP
        PERFORM 1 FROM state_agent_state_head WHERE project_id = in_project AND agent_id = item FOR UPDATE;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_lock_heads(in_project text, in_agents text[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_lock_shelves(in_project text, in_shelves text[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item text;
BEGIN
    FOREACH item IN ARRAY in_shelves LOOP
        PERFORM pg_advisory_xact_lock(808, hashtext(in_project || '/' || item));
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_lock_shelves(in_project text, in_shelves text[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_move_branch(in_branches public.cw_branch[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    moved integer;
BEGIN
    UPDATE state_pmo_batch_tasks t
    SET agent_id = u.agent_id, agent_turn_id = u.agent_turn_id, turn_epoch = u.turn_epoch,
        context_box_id = u.context_box_id, output_box_id = u.output_box_id, attempts = u.attempts,
        next_attempt_at = u.next_attempt_at, warning = u.warning, status = u.status,
        deliverable_card_id = u.deliverable_card_id, error_detail = u.error_detail, error_code = u.error_code,
        updated_at = u.updated_at
    FROM unnest(in_branches) AS u
    WHERE u.op = 'move' AND t.project_id = u.project_id AND t.batch_id = u.batch_id AND t.task_index = u.task_index
        AND t.status = u.from_status;
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> cardinality(in_branches) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'batch';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_move_branch(in_branches public.cw_branch[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_move_head(in_heads public.cw_head[], in_copied integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    moved integer;
BEGIN
    UPDATE state_agent_state_head h
    SET active_agent_turn_id = u.active_agent_turn_id, inbox_id = u.inbox_id, profile_box_id = u.profile_box_id,
        context_box_id = u.context_box_id, output_box_id = u.output_box_id,
        last_output_box_id = u.last_output_box_id, turn_epoch = u.turn_epoch,
        output_watermark = u.output_watermark, depth = u.depth, dispatched_at = u.dispatched_at,
        channel_id = u.channel_id, worker_target = u.worker_target, trace_id = u.trace_id,
        parent_step_id = u.parent_step_id, status = u.status, waiting_tool_count = u.waiting_tool_count,
        resume_deadline = u.resume_deadline, last_doorbell_at = u.last_doorbell_at,
        deliverable_card_id = u.deliverable_card_id, open_calls = u.open_calls, marks = u.marks,
        updated_at = u.updated_at, queued = h.queued + u.queued,
        busy = u.status <> 'idle' OR h.queued + u.queued > 0
    FROM unnest(in_heads) AS u
    WHERE u.op IN ('move', 'stay') AND h.project_id = u.project_id AND h.agent_id = u.agent_id
        AND h.turn_epoch = u.guard_epoch AND h.status = u.guard_status
        AND (u.guard_marks IS NULL OR h.marks = u.guard_marks)
        AND h.queued BETWEEN u.queued_min AND u.queued_max AND h.queued + u.queued >= 0
        AND (u.guard_revision IS NULL OR u.guard_revision = (
            SELECT a.revision FROM resource_project_agents a
            WHERE a.project_id = u.project_id AND a.agent_id = u.agent_id));
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> cardinality(in_heads) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    IF in_copied > 0 THEN
        RETURN cw_put_snapshot(in_heads, in_copied);
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_move_head(in_heads public.cw_head[], in_copied integer) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_nudge_head(in_project text, item public.cw_head) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE state_agent_state_head
    SET updated_at = greatest(updated_at, item.updated_at),
        last_doorbell_at = coalesce(item.last_doorbell_at, last_doorbell_at),
        deliverable_card_id = coalesce(item.deliverable_card_id, deliverable_card_id),
        open_calls = open_calls + item.open_calls, marks = marks + item.marks, queued = queued + item.queued,
        busy = status <> 'idle' OR queued + item.queued > 0
    WHERE project_id = in_project AND agent_id = item.agent_id AND turn_epoch = item.guard_epoch
        AND status = item.guard_status AND (item.guard_marks IS NULL OR marks = item.guard_marks)
        AND queued BETWEEN item.queued_min AND item.queued_max AND queued + item.queued >= 0
        AND open_calls + item.open_calls >= 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'head';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_nudge_head(in_project text, item public.cw_head) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_open_box(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_to_recordset(in_rows) AS r (box_id uuid, generation bigint, min_len bigint, max_len bigint)
    LOOP
        PERFORM 1
        FROM card_boxes
        WHERE project_id = in_project AND box_id = item.box_id AND generation = item.generation AND NOT sealed
            AND len BETWEEN item.min_len AND item.max_len;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_open_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_open_call(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO state_tool_calls (project_id, agent_turn_id, tool_call_id, agent_id, created_at, call_card_id,
        waiting, answer_status, terminate, answer_card_id, answered_at)
    SELECT in_project, agent_turn_id, tool_call_id, agent_id, created_at, call_card_id, waiting, answer_status,
        terminate, answer_card_id, answered_at
    FROM jsonb_populate_recordset(NULL::state_tool_calls, in_rows)
    ORDER BY agent_turn_id, tool_call_id;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_open_call(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_open_turns(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    most bigint;
    open bigint;
BEGIN
    SELECT min(r.at_most::bigint) INTO most FROM jsonb_array_elements(in_rows) AS r (at_most);
    PERFORM 1 FROM resource_projects WHERE project_id = in_project FOR UPDATE;
    SELECT count(*) INTO open
    FROM (
        SELECT 1
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.kind = 'turn' AND i.status IN ('pending', 'processing', 'deferred')
        UNION ALL
        SELECT 1
        FROM state_agent_inbox i
        WHERE i.project_id COLLATE "POSIX" = in_project
            AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) IS NOT NULL
        LIMIT most + 1
    ) AS open_turns;
    IF open > most THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'open_turns';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_open_turns(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_output_free(in_project text, in_outputs public.cw_output[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_output;
BEGIN
    FOREACH item IN ARRAY in_outputs LOOP
        PERFORM 1
        FROM card_boxes b
        WHERE b.project_id = in_project AND b.box_id = item.box_id AND NOT b.sealed
            AND (
                SELECT i.agent_id
                FROM state_agent_inbox i
                WHERE i.project_id = in_project AND i.output_box_id = item.box_id AND i.agent_id < coalesce(item.agent_id, '~')
                    AND i.kind = 'turn' AND i.status IN ('queued', 'pending', 'processing', 'deferred')
                LIMIT 1) IS NULL
            AND (
                SELECT i.agent_id
                FROM state_agent_inbox i
                WHERE i.project_id = in_project AND i.output_box_id = item.box_id AND i.agent_id > coalesce(item.agent_id, '~')
                    AND i.kind = 'turn' AND i.status IN ('queued', 'pending', 'processing', 'deferred')
                LIMIT 1) IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_output_free(in_project text, in_outputs public.cw_output[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_passages(in_project text, in_passages public.cw_passage_writes) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    done boolean;
BEGIN
    done := cw_lock_shelves(in_project, in_passages.shelves);
    IF in_passages.dropped IS NOT NULL THEN
        done := cw_drop_passages(in_passages.dropped);
    END IF;
    IF in_passages.passages IS NOT NULL THEN
        done := cw_put_passage(in_passages.passages);
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_passages(in_project text, in_passages public.cw_passage_writes) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_pmo(in_project text, in_pmo public.cw_pmo_writes) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    done boolean;
BEGIN
    IF in_pmo.locks IS NOT NULL THEN
        done := cw_lock_batches(in_project, in_pmo.locks);
    END IF;
    IF in_pmo.batches IS NOT NULL THEN
        done := cw_create_batch(in_pmo.batches);
    END IF;
    IF in_pmo.added IS NOT NULL THEN
        done := cw_add_branch(in_pmo.added);
    END IF;
    IF in_pmo.moved IS NOT NULL THEN
        done := cw_move_branch(in_pmo.moved);
    END IF;
    IF in_pmo.ended IS NOT NULL THEN
        done := cw_end_branch(in_pmo.ended);
    END IF;
    IF in_pmo.more IS NOT NULL THEN
        done := cw_branches(in_pmo.more);
    END IF;
    IF in_pmo.changes IS NOT NULL THEN
        done := cw_close_batch(in_pmo.changes);
    END IF;
    IF in_pmo.sweeps IS NOT NULL THEN
        done := cw_add_sweep(in_pmo.sweeps);
    END IF;
    IF in_pmo.done_sweeps IS NOT NULL THEN
        done := cw_end_sweep(in_pmo.done_sweeps);
    END IF;
    IF in_pmo.grants IS NOT NULL THEN
        done := cw_add_grant(in_pmo.grants);
    END IF;
    IF in_pmo.spends IS NOT NULL THEN
        done := cw_spend(in_project, in_pmo.spends);
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_pmo(in_project text, in_pmo public.cw_pmo_writes) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF in_changes THEN
        PERFORM 1 FROM resource_projects WHERE project_id = in_project FOR UPDATE;
    ELSE
        PERFORM 1 FROM resource_projects WHERE project_id = in_project FOR SHARE;
    END IF;
    IF NOT FOUND OR EXISTS (
        SELECT 1
        FROM jsonb_array_elements(in_revisions) AS r (revision), resource_projects p
        WHERE p.project_id = in_project AND p.revision <> r.revision::bigint)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'project';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_put_agent(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*, (e.value ->> 'was')::bigint AS was
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::resource_project_agents, e.value) AS r
        ORDER BY r.agent_id, e.place
    LOOP
        UPDATE resource_project_agents
        SET profile_name = item.profile_name, profile_box_id = item.profile_box_id,
            worker_target = item.worker_target, display_name = item.display_name, tags = item.tags,
            owner_agent_id = item.owner_agent_id, metadata = item.metadata, revision = item.revision,
            created_at = item.created_at, updated_at = item.updated_at
        WHERE project_id = in_project AND agent_id = item.agent_id AND revision = item.was;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'roster';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_agent(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_put_card(in_cards public.cards[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO cards SELECT * FROM unnest(in_cards);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_card(in_cards public.cards[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_put_passage(in_passages public.cw_passage[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO resource_passages (project_id, kind, namespace, source, part, card_id, content_hash, terms, embedding,
        created_at, lexemes)
    SELECT u.project_id, u.kind, u.namespace, u.source, u.part, u.card_id, u.content_hash, u.terms, u.embedding,
        u.created_at, u.lexemes::tsvector
    FROM unnest(in_passages) AS u
    ON CONFLICT (project_id, kind, namespace, source, part) DO UPDATE
    SET card_id = excluded.card_id, content_hash = excluded.content_hash, terms = excluded.terms,
        embedding = excluded.embedding, created_at = excluded.created_at, lexemes = excluded.lexemes;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_passage(in_passages public.cw_passage[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_put_profile(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*, (e.value ->> 'was')::bigint AS was
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::resource_profiles, e.value) AS r
        ORDER BY r.profile_name, e.place
    LOOP
        IF item.was IS NULL THEN
            INSERT INTO resource_profiles (project_id, profile_name, worker_target, profile_box_id, card_id, tags,
                revision, created_at, updated_at, deleted_at)
            VALUES (in_project, item.profile_name, item.worker_target, item.profile_box_id, item.card_id, item.tags,
                item.revision, item.created_at, item.updated_at, item.deleted_at);
        ELSE
            UPDATE resource_profiles
            SET worker_target = item.worker_target, profile_box_id = item.profile_box_id, card_id = item.card_id,
                tags = item.tags, revision = item.revision, created_at = item.created_at,
                updated_at = item.updated_at, deleted_at = item.deleted_at
            WHERE project_id = in_project AND profile_name = item.profile_name AND revision = item.was;
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'roster';
            END IF;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_profile(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_put_resource(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*, (e.value ->> 'was')::bigint AS was
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::resource_documents, e.value) AS r
        ORDER BY r.kind, r.name, e.place
    LOOP
        IF item.was IS NULL THEN
            INSERT INTO resource_documents (project_id, kind, name, card_id, revision, created_at, updated_at,
                deleted_at)
            VALUES (in_project, item.kind, item.name, item.card_id, item.revision, item.created_at, item.updated_at,
                item.deleted_at);
        ELSE
            UPDATE resource_documents
            SET card_id = item.card_id, revision = item.revision, created_at = item.created_at,
                updated_at = item.updated_at, deleted_at = item.deleted_at
            WHERE project_id = in_project AND kind = item.kind AND name = item.name AND revision = item.was;
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'roster';
            END IF;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_resource(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_put_snapshot(in_heads public.cw_head[], in_copied integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    updated integer;
BEGIN
    UPDATE state_snapshots s
    SET active_agent_turn_id = u.active_agent_turn_id, inbox_id = u.inbox_id, profile_box_id = u.profile_box_id,
        context_box_id = u.context_box_id, output_box_id = u.output_box_id,
        last_output_box_id = u.last_output_box_id, turn_epoch = u.turn_epoch,
        output_watermark = u.output_watermark, depth = u.depth, dispatched_at = u.dispatched_at,
        channel_id = u.channel_id, worker_target = u.worker_target, trace_id = u.trace_id,
        parent_step_id = u.parent_step_id, status = u.status, waiting_tool_count = u.waiting_tool_count,
        resume_deadline = u.resume_deadline, last_doorbell_at = u.last_doorbell_at,
        deliverable_card_id = u.deliverable_card_id, open_calls = u.open_calls, marks = u.marks,
        updated_at = u.updated_at
    FROM unnest(in_heads) AS u
    WHERE u.op IN ('create', 'move') AND s.project_id = u.project_id AND s.agent_id = u.agent_id;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated < in_copied THEN
        RETURN cw_add_snapshot(in_heads);
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_snapshot(in_heads public.cw_head[], in_copied integer) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_read_lost(in_project text, in_agent text) RETURNS public.cw_lost
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    found cw_lost;
BEGIN
    found.copy := cw_read_lost_copy(in_project, in_agent);
    found.turn_epoch := cw_read_lost_epoch(in_project, in_agent);
    found.open_turn := cw_read_lost_turn(in_project, in_agent);
    found.output_box_id := cw_read_lost_output_box(in_project, in_agent);
    found.queued := cw_read_lost_queued(in_project, in_agent);
    RETURN found;
END
$$;

ALTER FUNCTION public.cw_read_lost(in_project text, in_agent text) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_read_lost_copy(in_project text, in_agent text) RETURNS public.state_agent_state_head
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT (s.*, 0, false)::state_agent_state_head
        FROM state_snapshots s
        WHERE s.project_id = in_project AND s.agent_id = in_agent);
END
$$;

ALTER FUNCTION public.cw_read_lost_copy(in_project text, in_agent text) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_read_lost_epoch(in_project text, in_agent text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT greatest(
            (SELECT max(turn_epoch) FROM state_agent_inbox WHERE project_id = in_project AND agent_id = in_agent),
            (SELECT max(turn_epoch) FROM state_agent_steps WHERE project_id = in_project AND agent_id = in_agent),
            0));
END
$$;

ALTER FUNCTION public.cw_read_lost_epoch(in_project text, in_agent text) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_read_lost_output_box(in_project text, in_agent text) RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT i.output_box_id
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_id = in_agent AND i.kind = 'turn' AND i.ended_at IS NOT NULL
        ORDER BY i.seq DESC
        LIMIT 1);
END
$$;

ALTER FUNCTION public.cw_read_lost_output_box(in_project text, in_agent text) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_read_lost_queued(in_project text, in_agent text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT count(*)
        FROM state_agent_inbox i
        WHERE i.project_id COLLATE "POSIX" = in_project
            AND (CASE WHEN i.kind = 'turn' AND i.status = 'queued' THEN i.agent_id END) = in_agent);
END
$$;

ALTER FUNCTION public.cw_read_lost_queued(in_project text, in_agent text) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_read_lost_turn(in_project text, in_agent text) RETURNS public.state_agent_inbox
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        SELECT i
        FROM state_agent_inbox i
        WHERE i.project_id = in_project AND i.agent_id = in_agent AND i.kind = 'turn'
            AND i.status IN ('pending', 'processing', 'deferred')
        ORDER BY i.seq DESC
        LIMIT 1);
END
$$;

ALTER FUNCTION public.cw_read_lost_turn(in_project text, in_agent text) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_remember_answer(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO answers (project_id, caller, key, request_hash, status, body, created_at)
    SELECT in_project, caller, key, decode(request_hash, 'hex'), status, body, created_at
    FROM jsonb_to_recordset(in_rows) AS r (
        caller text, key text, request_hash text, status integer, body text, created_at bigint)
    ORDER BY caller, key;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_remember_answer(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_rest(in_project text, in_rest jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    done boolean;
BEGIN
    IF in_rest ? 'append' THEN
        done := cw_append_cards(
            in_project, ARRAY(SELECT r FROM jsonb_populate_recordset(NULL::cw_append, in_rest -> 'append') r));
    END IF;
    IF in_rest ? 'delete_card' THEN
        done := cw_delete_card(in_project, in_rest -> 'delete_card');
    END IF;
    IF in_rest ? 'create_box' THEN
        done := cw_create_box(in_project, in_rest -> 'create_box');
    END IF;
    IF in_rest ? 'rewrite_box' THEN
        done := cw_rewrite_box(in_project, in_rest -> 'rewrite_box');
    END IF;
    IF in_rest ? 'seal_box' THEN
        done := cw_seal_box(in_project, in_rest -> 'seal_box');
    END IF;
    IF in_rest ? 'open_call' THEN
        done := cw_open_call(in_project, in_rest -> 'open_call');
    END IF;
    IF in_rest ? 'update_call' THEN
        done := cw_update_call(in_project, in_rest -> 'update_call');
    END IF;
    IF in_rest ? 'put_profile' THEN
        done := cw_put_profile(in_project, in_rest -> 'put_profile');
    END IF;
    IF in_rest ? 'put_resource' THEN
        done := cw_put_resource(in_project, in_rest -> 'put_resource');
    END IF;
    IF in_rest ? 'put_agent' THEN
        done := cw_put_agent(in_project, in_rest -> 'put_agent');
    END IF;
    IF in_rest ? 'create_token' THEN
        done := cw_create_token(in_project, in_rest -> 'create_token');
    END IF;
    IF in_rest ? 'revoke_token' THEN
        done := cw_revoke_token(in_project, in_rest -> 'revoke_token');
    END IF;
    IF in_rest ? 'remember_answer' THEN
        done := cw_remember_answer(in_project, in_rest -> 'remember_answer');
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_rest(in_project text, in_rest jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_revoke_token(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    found_rows bigint;
BEGIN
    UPDATE tokens t
    SET revoked_at = r.at
    FROM jsonb_to_recordset(in_rows) AS r (token_id uuid, at bigint)
    WHERE t.project_id = in_project AND t.token_id = r.token_id AND t.revoked_at IS NULL;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'token';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_revoke_token(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_to_recordset(in_rows) AS r (
            box_id uuid, generation bigint, len bigint, entries bigint, depth integer)
    LOOP
        UPDATE card_boxes
        SET generation = item.generation, len = item.len, entries = item.entries, depth = item.depth
        WHERE project_id = in_project AND box_id = item.box_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN cw_box_entry(in_project, in_rows);
END
$$;

ALTER FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_seal_audit(in_project text, in_rows public.audit[]) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET enable_mergejoin TO 'on'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    first_seq bigint;
    last_seq bigint;
    sealed integer;
BEGIN
    SELECT min(r.seq), max(r.seq) INTO first_seq, last_seq FROM unnest(in_rows) AS r;
    UPDATE audit a
    SET position = s.position, hash = s.hash
    FROM (SELECT r.seq, r.position, r.hash FROM unnest(in_rows) AS r ORDER BY r.seq) AS s
    WHERE a.project_id = in_project AND a.seq = s.seq AND a.seq BETWEEN first_seq AND last_seq AND a.position IS NULL;
    GET DIAGNOSTICS sealed = ROW_COUNT;
    IF sealed <> cardinality(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_seal_audit(in_project text, in_rows public.audit[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT r.box_id FROM jsonb_to_recordset(in_rows) AS r (box_id uuid) LOOP
        UPDATE card_boxes SET sealed = true WHERE project_id = in_project AND box_id = item.box_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_spend(in_project text, in_spends public.cw_spending[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item cw_spending;
BEGIN
    FOREACH item IN ARRAY in_spends LOOP
        INSERT INTO state_pmo_trees AS t (project_id, root_agent_turn_id, turns)
        SELECT in_project, item.root_agent_turn_id, item.turns
        WHERE item.most >= 0
        ON CONFLICT (project_id, root_agent_turn_id) DO UPDATE
        SET turns = t.turns + excluded.turns
        WHERE t.turns <= item.most;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'tree';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_spend(in_project text, in_spends public.cw_spending[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_update_call(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::state_tool_calls, e.value) AS r
        ORDER BY r.agent_turn_id, r.tool_call_id, e.place
    LOOP
        UPDATE state_tool_calls
        SET call_card_id = item.call_card_id, waiting = item.waiting, answer_status = item.answer_status,
            terminate = item.terminate, answer_card_id = item.answer_card_id, answered_at = item.answered_at
        WHERE project_id = in_project AND agent_turn_id = item.agent_turn_id AND tool_call_id = item.tool_call_id
            AND answer_card_id IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'call';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_update_call(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_update_inbox(in_items public.cw_inbox_update[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    updated integer;
BEGIN
    UPDATE state_agent_inbox i
    SET status = u.status, turn_epoch = u.turn_epoch, worker_id = u.worker_id, token_hash = u.token_hash,
        processed_at = u.processed_at, retry_count = u.retry_count, next_retry_at = u.next_retry_at,
        reason = u.reason, task_status = u.task_status, deliverable_card_id = u.deliverable_card_id,
        error = u.error, error_code = u.error_code, output_from = u.output_from,
        output_until = u.output_until, ended_at = u.ended_at
    FROM unnest(in_items) AS u
    WHERE u.op = 'update' AND i.project_id = u.project_id AND i.inbox_id = u.inbox_id AND i.status = u.from_status;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(in_items) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'inbox';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_update_inbox(in_items public.cw_inbox_update[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_update_project(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*
        FROM jsonb_to_recordset(in_rows) AS r (
            project_id text, title text, settings text, revision bigint, updated_at bigint, deleted_at bigint)
    LOOP
        UPDATE resource_projects
        SET title = item.title, settings = item.settings, revision = item.revision, updated_at = item.updated_at,
            deleted_at = item.deleted_at
        WHERE project_id = item.project_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'project';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_update_project(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_update_session(in_sessions public.cw_session[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    updated integer;
BEGIN
    UPDATE state_sessions s
    SET version = u.version, checkpoint_card_id = u.checkpoint_card_id, created_at = u.created_at,
        updated_at = u.updated_at, deleted_at = u.deleted_at
    FROM unnest(in_sessions) AS u
    WHERE s.project_id = u.project_id AND s.namespace = u.namespace AND s.session_id = u.session_id
        AND s.version = u.was;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(in_sessions) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'session';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_update_session(in_sessions public.cw_session[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_update_step(in_project text, in_steps public.state_agent_steps[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    item state_agent_steps;
BEGIN
    FOREACH item IN ARRAY in_steps LOOP
        UPDATE state_agent_steps
        SET phase = item.phase, status = item.status, call_id = item.call_id,
            request_box_id = item.request_box_id, output_len = item.output_len, metadata = item.metadata,
            updated_at = item.updated_at
        WHERE project_id = in_project AND step_id = item.step_id AND agent_turn_id = item.agent_turn_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'step';
        END IF;
    END LOOP;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_update_step(in_project text, in_steps public.state_agent_steps[]) OWNER TO cardwire_owner;

CREATE TABLE public.answers (
    project_id text NOT NULL COLLATE pg_catalog."C",
    caller text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    request_hash bytea NOT NULL,
    status integer NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL
);

ALTER TABLE ONLY public.answers FORCE ROW LEVEL SECURITY;

ALTER TABLE public.answers OWNER TO cardwire_owner;

ALTER TABLE public.audit ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.event_heads (
    project_id text NOT NULL COLLATE pg_catalog."C",
    last_position bigint NOT NULL
);

ALTER TABLE ONLY public.event_heads FORCE ROW LEVEL SECURITY;

ALTER TABLE public.event_heads OWNER TO cardwire_owner;

ALTER TABLE public.events ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.resource_documents (
    project_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    card_id uuid NOT NULL,
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
);

ALTER TABLE ONLY public.resource_documents FORCE ROW LEVEL SECURITY;

ALTER TABLE public.resource_documents OWNER TO cardwire_owner;

CREATE TABLE public.resource_passages (
    project_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    part bigint NOT NULL,
    card_id uuid NOT NULL,
    content_hash bytea NOT NULL,
    terms text NOT NULL,
    embedding bytea,
    created_at bigint NOT NULL,
    lexemes tsvector NOT NULL
);
ALTER TABLE ONLY public.resource_passages ALTER COLUMN embedding SET STORAGE EXTERNAL;

ALTER TABLE ONLY public.resource_passages FORCE ROW LEVEL SECURITY;

ALTER TABLE public.resource_passages OWNER TO cardwire_owner;

CREATE TABLE public.resource_profiles (
    project_id text NOT NULL COLLATE pg_catalog."C",
    profile_name text NOT NULL COLLATE pg_catalog."C",
    worker_target text NOT NULL,
    profile_box_id uuid NOT NULL,
    card_id uuid NOT NULL,
    tags text[] NOT NULL,
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
);

ALTER TABLE ONLY public.resource_profiles FORCE ROW LEVEL SECURITY;

ALTER TABLE public.resource_profiles OWNER TO cardwire_owner;

CREATE TABLE public.resource_projects (
    project_id text NOT NULL COLLATE pg_catalog."C",
    title text,
    settings text NOT NULL,
    revision bigint NOT NULL,
    deletions bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
);

ALTER TABLE ONLY public.resource_projects FORCE ROW LEVEL SECURITY;

ALTER TABLE public.resource_projects OWNER TO cardwire_owner;

CREATE TABLE public.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at bigint NOT NULL
);

ALTER TABLE public.schema_migrations OWNER TO cardwire_owner;

ALTER TABLE public.state_agent_inbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.state_agent_inbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.state_pmo_batch_tasks (
    project_id text NOT NULL COLLATE pg_catalog."C",
    batch_id uuid NOT NULL,
    task_index bigint NOT NULL,
    created_at bigint NOT NULL,
    agent_id text COLLATE pg_catalog."C",
    agent_turn_id uuid,
    turn_epoch bigint,
    context_box_id uuid,
    output_box_id uuid,
    attempts bigint NOT NULL,
    next_attempt_at bigint,
    warning text,
    status text NOT NULL,
    deliverable_card_id uuid,
    error_detail text,
    error_code text,
    updated_at bigint NOT NULL
);

ALTER TABLE ONLY public.state_pmo_batch_tasks FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_batch_tasks OWNER TO cardwire_owner;

CREATE TABLE public.state_pmo_trees (
    project_id text NOT NULL COLLATE pg_catalog."C",
    root_agent_turn_id uuid NOT NULL,
    turns bigint NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.state_pmo_trees FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_trees OWNER TO cardwire_owner;

CREATE TABLE public.state_snapshots (
    project_id text NOT NULL COLLATE pg_catalog."C",
    agent_id text NOT NULL COLLATE pg_catalog."C",
    active_agent_turn_id uuid,
    inbox_id uuid,
    profile_box_id uuid,
    context_box_id uuid,
    output_box_id uuid,
    last_output_box_id uuid,
    turn_epoch bigint NOT NULL,
    output_watermark bigint,
    depth bigint,
    dispatched_at bigint,
    channel_id text,
    worker_target text,
    trace_id text,
    parent_step_id text,
    status text NOT NULL,
    waiting_tool_count bigint,
    resume_deadline bigint,
    last_doorbell_at bigint,
    deliverable_card_id uuid,
    open_calls bigint NOT NULL,
    marks bigint NOT NULL,
    updated_at bigint NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.state_snapshots FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_snapshots OWNER TO cardwire_owner;

CREATE TABLE public.state_tool_calls (
    project_id text NOT NULL COLLATE pg_catalog."C",
    agent_turn_id uuid NOT NULL,
    tool_call_id text NOT NULL COLLATE pg_catalog."C",
    agent_id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    call_card_id uuid,
    waiting boolean NOT NULL,
    answer_status text,
    terminate boolean,
    answer_card_id uuid,
    answered_at bigint,
    CONSTRAINT state_tool_calls_check CHECK ((num_nulls(answer_status, terminate, answer_card_id, answered_at) = ANY (ARRAY[0, 4])))
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.state_tool_calls FORCE ROW LEVEL SECURITY;

ALTER TABLE public.state_tool_calls OWNER TO cardwire_owner;

CREATE TABLE public.tokens (
    project_id text NOT NULL COLLATE pg_catalog."C",
    token_id uuid NOT NULL,
    secret_hash bytea NOT NULL,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);

ALTER TABLE ONLY public.tokens FORCE ROW LEVEL SECURITY;

ALTER TABLE public.tokens OWNER TO cardwire_owner;

ALTER TABLE ONLY public.answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (project_id, caller, key);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (project_id, seq);

ALTER TABLE ONLY public.box_entries
    ADD CONSTRAINT box_entries_pkey PRIMARY KEY (project_id, box_id, generation, seq);

ALTER TABLE ONLY public.card_boxes
    ADD CONSTRAINT card_boxes_pkey PRIMARY KEY (project_id, box_id);

ALTER TABLE ONLY public.cards
    ADD CONSTRAINT cards_pkey PRIMARY KEY (project_id, card_id);

ALTER TABLE ONLY public.event_heads
    ADD CONSTRAINT event_heads_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.resource_documents
    ADD CONSTRAINT resource_documents_pkey PRIMARY KEY (project_id, kind, name);

ALTER TABLE ONLY public.resource_passages
    ADD CONSTRAINT resource_passages_pkey PRIMARY KEY (project_id, kind, namespace, source, part);

ALTER TABLE ONLY public.resource_profiles
    ADD CONSTRAINT resource_profiles_pkey PRIMARY KEY (project_id, profile_name);

ALTER TABLE ONLY public.resource_project_agents
    ADD CONSTRAINT resource_project_agents_pkey PRIMARY KEY (project_id, agent_id);

ALTER TABLE ONLY public.resource_projects
    ADD CONSTRAINT resource_projects_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.state_agent_inbox
    ADD CONSTRAINT state_agent_inbox_pkey PRIMARY KEY (project_id, inbox_id);

ALTER TABLE ONLY public.state_agent_state_head
    ADD CONSTRAINT state_agent_state_head_pkey PRIMARY KEY (project_id, agent_id);

ALTER TABLE ONLY public.state_agent_steps
    ADD CONSTRAINT state_agent_steps_pkey PRIMARY KEY (project_id, step_id);

ALTER TABLE ONLY public.state_box_grants
    ADD CONSTRAINT state_box_grants_pkey PRIMARY KEY (project_id, agent_id, box_id);

ALTER TABLE ONLY public.state_execution_edges
    ADD CONSTRAINT state_execution_edges_pkey PRIMARY KEY (project_id, edge_id);

ALTER TABLE ONLY public.state_identity_edges
    ADD CONSTRAINT state_identity_edges_pkey PRIMARY KEY (project_id, edge_id);

ALTER TABLE ONLY public.state_pmo_batch_tasks
    ADD CONSTRAINT state_pmo_batch_tasks_pkey PRIMARY KEY (project_id, batch_id, task_index);

ALTER TABLE ONLY public.state_pmo_batches
    ADD CONSTRAINT state_pmo_batches_pkey PRIMARY KEY (project_id, batch_id);

ALTER TABLE ONLY public.state_pmo_sweeps
    ADD CONSTRAINT state_pmo_sweeps_pkey PRIMARY KEY (project_id, scope, subject_id);

ALTER TABLE ONLY public.state_pmo_trees
    ADD CONSTRAINT state_pmo_trees_pkey PRIMARY KEY (project_id, root_agent_turn_id);

ALTER TABLE ONLY public.state_sessions
    ADD CONSTRAINT state_sessions_pkey PRIMARY KEY (project_id, namespace, session_id);

ALTER TABLE ONLY public.state_snapshots
    ADD CONSTRAINT state_snapshots_pkey PRIMARY KEY (project_id, agent_id);

ALTER TABLE ONLY public.state_tool_calls
    ADD CONSTRAINT state_tool_calls_pkey PRIMARY KEY (project_id, agent_turn_id, tool_call_id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (project_id, token_id);

CREATE INDEX answers_by_time ON public.answers USING btree (created_at);

CREATE UNIQUE INDEX audit_by_position ON public.audit USING btree (project_id, "position") WHERE ("position" IS NOT NULL);

CREATE INDEX audit_unsealed ON public.audit USING btree (project_id, seq) WHERE ("position" IS NULL);

CREATE UNIQUE INDEX box_entries_by_card ON public.box_entries USING btree (project_id, box_id, generation, card_id) WHERE (card_id IS NOT NULL);

CREATE UNIQUE INDEX events_by_position ON public.events USING btree (project_id, last_position) WHERE (last_position IS NOT NULL);

CREATE INDEX events_unnumbered ON public.events USING btree (seq) WHERE (last_position IS NULL);

CREATE INDEX resource_passages_lexemes ON public.resource_passages USING gin (lexemes) WITH (fastupdate=off);

CREATE INDEX resource_project_agents_by_time ON public.resource_project_agents USING btree (project_id, created_at, agent_id);

CREATE INDEX state_agent_inbox_by_agent ON public.state_agent_inbox USING btree (agent_id, project_id, inbox_id);

CREATE UNIQUE INDEX state_agent_inbox_by_turn ON public.state_agent_inbox USING btree (agent_turn_id, project_id) WHERE (kind = 'turn'::text);

CREATE INDEX state_agent_inbox_children ON public.state_agent_inbox USING btree (parent_agent_turn_id, project_id, agent_turn_id) WHERE ((kind = 'turn'::text) AND (status = ANY (ARRAY['queued'::text, 'pending'::text, 'processing'::text, 'deferred'::text])) AND (parent_agent_turn_id IS NOT NULL) AND (batch_id IS NULL));

CREATE INDEX state_agent_inbox_claimable ON public.state_agent_inbox USING btree (worker_target, project_id, seq) WHERE (status = ANY (ARRAY['pending'::text, 'deferred'::text]));

CREATE INDEX state_agent_inbox_claimable_anywhere ON public.state_agent_inbox USING btree (worker_target, seq) WHERE (status = ANY (ARRAY['pending'::text, 'deferred'::text]));

CREATE INDEX state_agent_inbox_open ON public.state_agent_inbox USING btree (project_id, inbox_id) WHERE (status = ANY (ARRAY['pending'::text, 'processing'::text, 'deferred'::text]));

CREATE INDEX state_agent_inbox_queued ON public.state_agent_inbox USING btree (project_id COLLATE "POSIX", (
CASE
    WHEN ((kind = 'turn'::text) AND (status = 'queued'::text)) THEN agent_id
    ELSE NULL::text
END), seq) WHERE (
CASE
    WHEN ((kind = 'turn'::text) AND (status = 'queued'::text)) THEN agent_id
    ELSE NULL::text
END IS NOT NULL);

CREATE INDEX state_agent_inbox_reports ON public.state_agent_inbox USING btree (agent_turn_id, project_id) WHERE (kind <> 'turn'::text);

CREATE INDEX state_agent_inbox_writers ON public.state_agent_inbox USING btree (output_box_id, project_id, agent_id) WHERE ((kind = 'turn'::text) AND (status = ANY (ARRAY['queued'::text, 'pending'::text, 'processing'::text, 'deferred'::text])));

CREATE INDEX state_agent_state_head_busy ON public.state_agent_state_head USING btree (project_id, agent_id) WHERE busy;

CREATE INDEX state_agent_steps_by_agent ON public.state_agent_steps USING btree (agent_id, project_id, created_at);

CREATE INDEX state_agent_steps_by_time ON public.state_agent_steps USING btree (project_id COLLATE "POSIX", created_at, step_id);

CREATE INDEX state_agent_steps_by_turn ON public.state_agent_steps USING btree (agent_turn_id, project_id);

CREATE UNIQUE INDEX state_execution_edges_by_correlation ON public.state_execution_edges USING btree (correlation_id, project_id, primitive, edge_phase, scope);

CREATE INDEX state_execution_edges_by_source ON public.state_execution_edges USING btree (source_agent_id, project_id, edge_id) WHERE (source_agent_id IS NOT NULL);

CREATE INDEX state_execution_edges_by_source_turn ON public.state_execution_edges USING btree (source_agent_turn_id, project_id) WHERE (source_agent_turn_id IS NOT NULL);

CREATE INDEX state_execution_edges_by_target ON public.state_execution_edges USING btree (target_agent_id, project_id, edge_id) WHERE (target_agent_id IS NOT NULL);

CREATE INDEX state_execution_edges_by_target_turn ON public.state_execution_edges USING btree (target_agent_turn_id, project_id) WHERE (target_agent_turn_id IS NOT NULL);

CREATE INDEX state_identity_edges_by_source ON public.state_identity_edges USING btree (source_agent_id, project_id, edge_id) WHERE (source_agent_id IS NOT NULL);

CREATE INDEX state_identity_edges_by_target ON public.state_identity_edges USING btree (target_agent_id, project_id, edge_id);

CREATE INDEX state_pmo_batch_tasks_dispatched ON public.state_pmo_batch_tasks USING btree (batch_id, project_id, task_index) WHERE (status = 'dispatched'::text);

CREATE INDEX state_pmo_batch_tasks_failed ON public.state_pmo_batch_tasks USING btree (batch_id, project_id, task_index) WHERE (status = ANY (ARRAY['failed'::text, 'canceled'::text, 'timeout'::text]));

CREATE INDEX state_pmo_batch_tasks_pending ON public.state_pmo_batch_tasks USING btree (batch_id, project_id, task_index) WHERE (status = 'pending'::text);

CREATE INDEX state_pmo_batch_tasks_success ON public.state_pmo_batch_tasks USING btree (batch_id, project_id, task_index) WHERE (status = 'success'::text);

CREATE INDEX state_pmo_batch_tasks_unleased ON public.state_pmo_batch_tasks USING btree (batch_id, project_id, task_index) WHERE ((status = 'dispatched'::text) AND (turn_epoch IS NULL));

CREATE INDEX state_pmo_batches_by_parent_turn ON public.state_pmo_batches USING btree (parent_agent_turn_id, project_id, batch_id) WHERE (parent_agent_turn_id IS NOT NULL);

CREATE INDEX state_pmo_batches_running ON public.state_pmo_batches USING btree (project_id, batch_id) WHERE (status = 'running'::text);

CREATE UNIQUE INDEX tokens_by_hash ON public.tokens USING btree (secret_hash);

CREATE UNIQUE INDEX tokens_by_id ON public.tokens USING btree (token_id);

ALTER TABLE public.answers ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.audit ENABLE ROW LEVEL SECURITY;

CREATE POLICY background ON public.answers TO cardwire_system USING (true);

CREATE POLICY background ON public.audit FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.event_heads TO cardwire_system USING (true) WITH CHECK (true);

CREATE POLICY background ON public.events TO cardwire_system USING (true);

CREATE POLICY background ON public.resource_passages FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.resource_projects FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.state_agent_inbox FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.state_agent_state_head FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.state_pmo_batches FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.state_pmo_sweeps FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.tokens FOR SELECT TO cardwire_system USING (true);

ALTER TABLE public.box_entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.card_boxes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.cards ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_heads ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_documents ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_passages ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_profiles ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_project_agents ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_projects ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_agent_inbox ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_agent_state_head ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_agent_steps ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_box_grants ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_execution_edges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_identity_edges ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_batch_tasks ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_batches ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_sweeps ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_pmo_trees ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_sessions ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_snapshots ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.state_tool_calls ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON public.answers TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.audit TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.box_entries TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.card_boxes TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.cards TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.event_heads TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.events TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.resource_documents TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.resource_passages TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.resource_profiles TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.resource_project_agents TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.resource_projects TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_agent_inbox TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_agent_state_head TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_agent_steps TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_box_grants TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_execution_edges TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_identity_edges TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_pmo_batch_tasks TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_pmo_batches TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_pmo_sweeps TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_pmo_trees TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_sessions TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_snapshots TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.state_tool_calls TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.tokens TO cardwire_app USING (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true))) WITH CHECK (((project_id COLLATE "POSIX") = current_setting('cardwire.project'::text, true)));

ALTER TABLE public.tokens ENABLE ROW LEVEL SECURITY;

GRANT ALL ON SCHEMA public TO cardwire_owner;

GRANT SELECT,INSERT ON TABLE public.state_agent_inbox TO cardwire_app;
GRANT SELECT ON TABLE public.state_agent_inbox TO cardwire_system;

GRANT UPDATE(status) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(turn_epoch) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(worker_id) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(token_hash) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(processed_at) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(retry_count) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(next_retry_at) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(reason) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(task_status) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(deliverable_card_id) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(error) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(error_code) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(output_from) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(output_until) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT UPDATE(ended_at) ON TABLE public.state_agent_inbox TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_agent_state_head TO cardwire_app;
GRANT SELECT ON TABLE public.state_agent_state_head TO cardwire_system;

GRANT UPDATE(active_agent_turn_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(inbox_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(profile_box_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(context_box_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(output_box_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(last_output_box_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(turn_epoch) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(output_watermark) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(depth) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(dispatched_at) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(channel_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(worker_target) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(trace_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(parent_step_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(status) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(waiting_tool_count) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(resume_deadline) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(last_doorbell_at) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(deliverable_card_id) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(open_calls) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(marks) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(queued) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT UPDATE(busy) ON TABLE public.state_agent_state_head TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_box_grants TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_pmo_batches TO cardwire_app;

GRANT SELECT(project_id) ON TABLE public.state_pmo_batches TO cardwire_system;

GRANT SELECT(batch_id) ON TABLE public.state_pmo_batches TO cardwire_system;

GRANT UPDATE(status) ON TABLE public.state_pmo_batches TO cardwire_app;
GRANT SELECT(status) ON TABLE public.state_pmo_batches TO cardwire_system;

GRANT UPDATE(closing) ON TABLE public.state_pmo_batches TO cardwire_app;

GRANT UPDATE(result_card_id) ON TABLE public.state_pmo_batches TO cardwire_app;

GRANT UPDATE(closed_at) ON TABLE public.state_pmo_batches TO cardwire_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.state_pmo_sweeps TO cardwire_app;
GRANT SELECT ON TABLE public.state_pmo_sweeps TO cardwire_system;

REVOKE ALL ON FUNCTION public.cw_add_branch(in_branches public.cw_branch[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_add_branch(in_branches public.cw_branch[]) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_execution_edges TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_add_edge(in_edges public.state_execution_edges[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_add_edge(in_edges public.state_execution_edges[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_add_grant(in_grants public.state_box_grants[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_add_grant(in_grants public.state_box_grants[]) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_identity_edges TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_add_identity_edge(in_edges public.state_identity_edges[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_add_identity_edge(in_edges public.state_identity_edges[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_add_snapshot(in_heads public.cw_head[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_add_snapshot(in_heads public.cw_head[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_add_sweep(in_sweeps public.state_pmo_sweeps[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_add_sweep(in_sweeps public.state_pmo_sweeps[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_append_cards(in_project text, in_appends public.cw_append[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_append_cards(in_project text, in_appends public.cw_append[]) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.audit TO cardwire_app;
GRANT SELECT ON TABLE public.audit TO cardwire_system;

GRANT UPDATE("position") ON TABLE public.audit TO cardwire_app;

GRANT UPDATE(hash) ON TABLE public.audit TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_audit(in_rows public.audit[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_audit(in_rows public.audit[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_box_entry(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_box_entry(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_branches(in_branches public.cw_branch[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_branches(in_branches public.cw_branch[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_chain_at(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_chain_at(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_close_batch(in_changes public.cw_batch_change[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_close_batch(in_changes public.cw_batch_change[]) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.box_entries TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.card_boxes TO cardwire_app;

GRANT UPDATE(generation) ON TABLE public.card_boxes TO cardwire_app;

GRANT UPDATE(len) ON TABLE public.card_boxes TO cardwire_app;

GRANT UPDATE(entries) ON TABLE public.card_boxes TO cardwire_app;

GRANT UPDATE(depth) ON TABLE public.card_boxes TO cardwire_app;

GRANT UPDATE(sealed) ON TABLE public.card_boxes TO cardwire_app;

GRANT UPDATE(handover_hash) ON TABLE public.card_boxes TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.cards TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.cards TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.events TO cardwire_app;
GRANT SELECT ON TABLE public.events TO cardwire_system;

GRANT UPDATE(last_position) ON TABLE public.events TO cardwire_system;

GRANT SELECT,INSERT ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(profile_name) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(profile_box_id) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(worker_target) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(display_name) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(tags) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(owner_agent_id) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(metadata) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(revision) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(created_at) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.resource_project_agents TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(phase) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(status) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(call_id) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(request_box_id) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(output_len) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(metadata) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.state_agent_steps TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_sessions TO cardwire_app;

GRANT UPDATE(version) ON TABLE public.state_sessions TO cardwire_app;

GRANT UPDATE(checkpoint_card_id) ON TABLE public.state_sessions TO cardwire_app;

GRANT UPDATE(created_at) ON TABLE public.state_sessions TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.state_sessions TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.state_sessions TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_commit(in_project text, in_boxes uuid[], in_outputs public.cw_output[], in_new_boxes public.card_boxes[], in_entries public.box_entries[], in_cards public.cards[], in_appends public.cw_append[], in_agents text[], in_moves public.cw_head[], in_copied integer, in_new_heads public.cw_head[], in_heads public.cw_head[], in_pmo public.cw_pmo_writes, in_new_sessions public.state_sessions[], in_sessions public.cw_session[], in_inbox public.state_agent_inbox[], in_inbox_updates public.cw_inbox_update[], in_more_inbox_updates public.cw_inbox_update[], in_edges public.state_execution_edges[], in_steps public.state_agent_steps[], in_step_updates public.state_agent_steps[], in_new_agents public.resource_project_agents[], in_identity_edges public.state_identity_edges[], in_seals public.audit[], in_audit public.audit[], in_passages public.cw_passage_writes, in_events public.events[], in_rest jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_commit(in_project text, in_boxes uuid[], in_outputs public.cw_output[], in_new_boxes public.card_boxes[], in_entries public.box_entries[], in_cards public.cards[], in_appends public.cw_append[], in_agents text[], in_moves public.cw_head[], in_copied integer, in_new_heads public.cw_head[], in_heads public.cw_head[], in_pmo public.cw_pmo_writes, in_new_sessions public.state_sessions[], in_sessions public.cw_session[], in_inbox public.state_agent_inbox[], in_inbox_updates public.cw_inbox_update[], in_more_inbox_updates public.cw_inbox_update[], in_edges public.state_execution_edges[], in_steps public.state_agent_steps[], in_step_updates public.state_agent_steps[], in_new_agents public.resource_project_agents[], in_identity_edges public.state_identity_edges[], in_seals public.audit[], in_audit public.audit[], in_passages public.cw_passage_writes, in_events public.events[], in_rest jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_count_deletion(in_project text, in_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_count_deletion(in_project text, in_count integer) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_agent(in_agents public.resource_project_agents[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_agent(in_agents public.resource_project_agents[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_batch(in_batches public.state_pmo_batches[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_batch(in_batches public.state_pmo_batches[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_boxes(in_boxes public.card_boxes[], in_entries public.box_entries[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_boxes(in_boxes public.card_boxes[], in_entries public.box_entries[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_head(in_heads public.cw_head[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_head(in_heads public.cw_head[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_project(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_project(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_session(in_sessions public.state_sessions[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_session(in_sessions public.state_sessions[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_step(in_steps public.state_agent_steps[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_step(in_steps public.state_agent_steps[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_token(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_token(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_drop_passages(in_sources public.cw_source[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_drop_passages(in_sources public.cw_source[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_end_branch(in_branches public.cw_branch[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_end_branch(in_branches public.cw_branch[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_end_sweep(in_sweeps public.state_pmo_sweeps[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_end_sweep(in_sweeps public.state_pmo_sweeps[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_enqueue(in_items public.state_agent_inbox[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_enqueue(in_items public.state_agent_inbox[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_event(in_groups public.events[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_event(in_groups public.events[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_expect(in_project text, in_rest jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_expect(in_project text, in_rest jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_heads(in_project text, in_heads public.cw_head[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_heads(in_project text, in_heads public.cw_head[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_lock_batches(in_project text, in_locks public.cw_batch_lock[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_lock_batches(in_project text, in_locks public.cw_batch_lock[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_lock_boxes(in_project text, in_boxes uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_lock_boxes(in_project text, in_boxes uuid[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_lock_heads(in_project text, in_agents text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_lock_heads(in_project text, in_agents text[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_lock_shelves(in_project text, in_shelves text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_lock_shelves(in_project text, in_shelves text[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_move_branch(in_branches public.cw_branch[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_move_branch(in_branches public.cw_branch[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_move_head(in_heads public.cw_head[], in_copied integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_move_head(in_heads public.cw_head[], in_copied integer) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_nudge_head(in_project text, item public.cw_head) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_nudge_head(in_project text, item public.cw_head) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_open_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_open_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_open_call(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_open_call(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_open_turns(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_open_turns(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_output_free(in_project text, in_outputs public.cw_output[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_output_free(in_project text, in_outputs public.cw_output[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_passages(in_project text, in_passages public.cw_passage_writes) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_passages(in_project text, in_passages public.cw_passage_writes) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_pmo(in_project text, in_pmo public.cw_pmo_writes) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_pmo(in_project text, in_pmo public.cw_pmo_writes) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_agent(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_agent(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_card(in_cards public.cards[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_card(in_cards public.cards[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_passage(in_passages public.cw_passage[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_passage(in_passages public.cw_passage[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_profile(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_profile(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_resource(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_resource(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_snapshot(in_heads public.cw_head[], in_copied integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_snapshot(in_heads public.cw_head[], in_copied integer) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_read_lost(in_project text, in_agent text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_read_lost(in_project text, in_agent text) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_read_lost_copy(in_project text, in_agent text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_read_lost_copy(in_project text, in_agent text) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_read_lost_epoch(in_project text, in_agent text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_read_lost_epoch(in_project text, in_agent text) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_read_lost_output_box(in_project text, in_agent text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_read_lost_output_box(in_project text, in_agent text) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_read_lost_queued(in_project text, in_agent text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_read_lost_queued(in_project text, in_agent text) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_read_lost_turn(in_project text, in_agent text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_read_lost_turn(in_project text, in_agent text) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_remember_answer(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_remember_answer(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_rest(in_project text, in_rest jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_rest(in_project text, in_rest jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_revoke_token(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_revoke_token(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_seal_audit(in_project text, in_rows public.audit[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_seal_audit(in_project text, in_rows public.audit[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_spend(in_project text, in_spends public.cw_spending[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_spend(in_project text, in_spends public.cw_spending[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_update_call(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_update_call(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_update_inbox(in_items public.cw_inbox_update[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_update_inbox(in_items public.cw_inbox_update[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_update_project(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_update_project(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_update_session(in_sessions public.cw_session[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_update_session(in_sessions public.cw_session[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_update_step(in_project text, in_steps public.state_agent_steps[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_update_step(in_project text, in_steps public.state_agent_steps[]) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.answers TO cardwire_app;
GRANT SELECT,DELETE ON TABLE public.answers TO cardwire_system;

GRANT SELECT ON TABLE public.event_heads TO cardwire_app;
GRANT SELECT,INSERT ON TABLE public.event_heads TO cardwire_system;

GRANT UPDATE(last_position) ON TABLE public.event_heads TO cardwire_system;

GRANT SELECT,INSERT ON TABLE public.resource_documents TO cardwire_app;

GRANT UPDATE(card_id) ON TABLE public.resource_documents TO cardwire_app;

GRANT UPDATE(revision) ON TABLE public.resource_documents TO cardwire_app;

GRANT UPDATE(created_at) ON TABLE public.resource_documents TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.resource_documents TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.resource_documents TO cardwire_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.resource_passages TO cardwire_app;

GRANT SELECT(project_id) ON TABLE public.resource_passages TO cardwire_system;

GRANT SELECT(kind) ON TABLE public.resource_passages TO cardwire_system;

GRANT SELECT(namespace) ON TABLE public.resource_passages TO cardwire_system;

GRANT SELECT(source) ON TABLE public.resource_passages TO cardwire_system;

GRANT SELECT(part) ON TABLE public.resource_passages TO cardwire_system;

GRANT UPDATE(card_id) ON TABLE public.resource_passages TO cardwire_app;

GRANT UPDATE(content_hash) ON TABLE public.resource_passages TO cardwire_app;

GRANT UPDATE(terms) ON TABLE public.resource_passages TO cardwire_app;

GRANT UPDATE(embedding) ON TABLE public.resource_passages TO cardwire_app;

GRANT UPDATE(created_at) ON TABLE public.resource_passages TO cardwire_app;

GRANT UPDATE(lexemes) ON TABLE public.resource_passages TO cardwire_app;
GRANT SELECT(lexemes) ON TABLE public.resource_passages TO cardwire_system;

GRANT SELECT,INSERT ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(worker_target) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(profile_box_id) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(card_id) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(tags) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(revision) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(created_at) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.resource_profiles TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.resource_profiles TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.resource_projects TO cardwire_app;
GRANT SELECT ON TABLE public.resource_projects TO cardwire_system;

GRANT UPDATE(title) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(settings) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(revision) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(deletions) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.resource_projects TO cardwire_app;

GRANT SELECT ON TABLE public.schema_migrations TO cardwire_system;

GRANT SELECT,INSERT ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(agent_id) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(agent_turn_id) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(turn_epoch) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(context_box_id) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(output_box_id) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(attempts) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(next_attempt_at) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(warning) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(status) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(deliverable_card_id) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(error_detail) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(error_code) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.state_pmo_batch_tasks TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_pmo_trees TO cardwire_app;

GRANT UPDATE(turns) ON TABLE public.state_pmo_trees TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(active_agent_turn_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(inbox_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(profile_box_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(context_box_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(output_box_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(last_output_box_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(turn_epoch) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(output_watermark) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(depth) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(dispatched_at) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(channel_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(worker_target) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(trace_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(parent_step_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(status) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(waiting_tool_count) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(resume_deadline) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(last_doorbell_at) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(deliverable_card_id) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(open_calls) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(marks) ON TABLE public.state_snapshots TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.state_snapshots TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_tool_calls TO cardwire_app;

GRANT UPDATE(call_card_id) ON TABLE public.state_tool_calls TO cardwire_app;

GRANT UPDATE(waiting) ON TABLE public.state_tool_calls TO cardwire_app;

GRANT UPDATE(answer_status) ON TABLE public.state_tool_calls TO cardwire_app;

GRANT UPDATE(terminate) ON TABLE public.state_tool_calls TO cardwire_app;

GRANT UPDATE(answer_card_id) ON TABLE public.state_tool_calls TO cardwire_app;

GRANT UPDATE(answered_at) ON TABLE public.state_tool_calls TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.tokens TO cardwire_app;
GRANT SELECT ON TABLE public.tokens TO cardwire_system;

GRANT UPDATE(revoked_at) ON TABLE public.tokens TO cardwire_app;
