-- The schema as a whole without its functions (sql/), for reading. Made from the migrations (UPDATE_SCHEMA=1,
-- tests/it/schema.rs) and proven equal to them by the same test; the program never runs it.

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

CREATE INDEX state_agent_inbox_held ON public.state_agent_inbox USING btree (worker_target, worker_id, seq) WHERE (status = 'processing'::text);

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

GRANT SELECT,INSERT ON TABLE public.state_execution_edges TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.state_identity_edges TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.audit TO cardwire_app;
GRANT SELECT ON TABLE public.audit TO cardwire_system;

GRANT UPDATE("position") ON TABLE public.audit TO cardwire_app;

GRANT UPDATE(hash) ON TABLE public.audit TO cardwire_app;

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
