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

CREATE FUNCTION public.cw_audit(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
    SELECT in_project, r.actor, r.action, r.subject, r.verdict, r.detail, r.at
    FROM jsonb_to_recordset(in_rows) AS r (
        actor text, action text, subject text, verdict text, detail text, at bigint);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_audit(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

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
    "position" bigint,
    event_id uuid NOT NULL,
    kind text NOT NULL,
    target text NOT NULL,
    channel text NOT NULL,
    agent_id text COLLATE pg_catalog."C",
    data text NOT NULL,
    at bigint NOT NULL
);

ALTER TABLE ONLY public.events FORCE ROW LEVEL SECURITY;

ALTER TABLE public.events OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_commit(in_project text, in_cards public.cards[], in_appends public.cw_append[], in_events public.events[], in_rest jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    tenant text;
    done boolean;
    stage jsonb;
BEGIN
    tenant := set_config('cardwire.project', in_project, true);
    IF in_rest IS NOT NULL THEN
        done := cw_expect(in_project, in_rest);
    END IF;
    IF in_appends IS NOT NULL THEN
        done := cw_append_cards(in_project, in_appends);
    END IF;
    IF in_cards IS NOT NULL THEN
        done := cw_put_card(in_cards);
    END IF;
    IF in_rest IS NOT NULL THEN
        done := cw_rest(in_project, in_rest);
        FOR stage IN SELECT value FROM jsonb_array_elements(in_rest -> 'then') LOOP
            done := cw_expect(in_project, stage);
            done := cw_rest(in_project, stage);
        END LOOP;
    END IF;
    IF in_events IS NOT NULL THEN
        done := cw_event(in_events);
    END IF;
END
$$;

ALTER FUNCTION public.cw_commit(in_project text, in_cards public.cards[], in_appends public.cw_append[], in_events public.events[], in_rest jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_count_deletion(in_project text, in_count integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE resource_projects SET deletions = deletions + in_count WHERE project_id = in_project;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_count_deletion(in_project text, in_count integer) OWNER TO cardwire_owner;

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
    found_rows bigint;
BEGIN
    UPDATE cards c
    SET deleted_at = r.at
    FROM jsonb_to_recordset(in_rows) AS r (card_id uuid, at bigint)
    WHERE c.project_id = in_project AND c.card_id = r.card_id AND c.deleted_at IS NULL;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'card';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_event(in_events public.events[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO events (project_id, event_id, kind, target, channel, agent_id, data, at)
    SELECT project_id, event_id, kind, target, channel, agent_id, data, at
    FROM unnest(in_events);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_event(in_events public.events[]) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_expect(in_project text, in_rest jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    done boolean;
BEGIN
    IF in_rest ? 'project_at' THEN
        done := cw_project_at(in_project, in_rest -> 'project_at', in_rest ?| ARRAY['update_project', 'delete_card']);
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
    IF in_rest ? 'open_box' THEN
        done := cw_open_box(in_project, in_rest -> 'open_box');
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_expect(in_project text, in_rest jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_open_box(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM 1
    FROM card_boxes
    WHERE project_id = in_project
        AND box_id = ANY (ARRAY(SELECT r.box_id FROM jsonb_to_recordset(in_rows) AS r (box_id uuid)))
    ORDER BY box_id
    FOR UPDATE;
    IF EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(in_rows) AS r (box_id uuid, generation bigint, min_len bigint, max_len bigint)
        WHERE r.generation IS NOT NULL AND NOT EXISTS (
            SELECT 1
            FROM card_boxes b
            WHERE b.project_id = in_project AND b.box_id = r.box_id AND b.generation = r.generation
                AND NOT b.sealed AND b.len BETWEEN r.min_len AND r.max_len))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_open_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

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

CREATE FUNCTION public.cw_put_card(in_cards public.cards[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO cards SELECT * FROM unnest(in_cards);
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_put_card(in_cards public.cards[]) OWNER TO cardwire_owner;

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
    IF in_rest ? 'create_token' THEN
        done := cw_create_token(in_project, in_rest -> 'create_token');
    END IF;
    IF in_rest ? 'revoke_token' THEN
        done := cw_revoke_token(in_project, in_rest -> 'revoke_token');
    END IF;
    IF in_rest ? 'remember_answer' THEN
        done := cw_remember_answer(in_project, in_rest -> 'remember_answer');
    END IF;
    IF in_rest ? 'seal_audit' THEN
        done := cw_seal_audit(in_project, in_rest -> 'seal_audit');
    END IF;
    IF in_rest ? 'audit' THEN
        done := cw_audit(in_project, in_rest -> 'audit');
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
    found_rows bigint;
BEGIN
    UPDATE card_boxes b
    SET generation = r.generation, len = r.len, entries = r.entries, depth = r.depth
    FROM jsonb_to_recordset(in_rows) AS r (
        box_id uuid, generation bigint, len bigint, entries bigint, depth integer)
    WHERE b.project_id = in_project AND b.box_id = r.box_id;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
    END IF;
    RETURN cw_box_entry(in_project, in_rows);
END
$$;

ALTER FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_seal_audit(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    found_rows bigint;
BEGIN
    PERFORM 1
    FROM audit
    WHERE project_id = in_project
        AND seq = ANY (ARRAY(SELECT r.seq FROM jsonb_to_recordset(in_rows) AS r (seq bigint)))
    ORDER BY seq
    FOR UPDATE;
    UPDATE audit a
    SET position = r.position, hash = decode(r.hash, 'hex')
    FROM jsonb_to_recordset(in_rows) AS r (seq bigint, position bigint, hash text)
    WHERE a.project_id = in_project AND a.seq = r.seq AND a.position IS NULL;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'chain';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_seal_audit(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

CREATE FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    found_rows bigint;
BEGIN
    UPDATE card_boxes b
    SET sealed = true
    FROM jsonb_to_recordset(in_rows) AS r (box_id uuid)
    WHERE b.project_id = in_project AND b.box_id = r.box_id;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows <> jsonb_array_length(in_rows) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) OWNER TO cardwire_owner;

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

ALTER TABLE public.audit ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (project_id, seq);

ALTER TABLE ONLY public.resource_projects
    ADD CONSTRAINT resource_projects_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (project_id, token_id);

CREATE INDEX answers_by_time ON public.answers USING btree (created_at);

CREATE UNIQUE INDEX audit_by_position ON public.audit USING btree (project_id, "position") WHERE ("position" IS NOT NULL);

CREATE INDEX audit_unsealed ON public.audit USING btree (project_id, seq) WHERE ("position" IS NULL);

CREATE UNIQUE INDEX box_entries_by_card ON public.box_entries USING btree (project_id, box_id, generation, card_id) WHERE (card_id IS NOT NULL);

CREATE INDEX events_by_agent ON public.events USING btree (project_id, agent_id, "position") WHERE ((agent_id IS NOT NULL) AND ("position" IS NOT NULL));

CREATE UNIQUE INDEX events_by_position ON public.events USING btree (project_id, "position") WHERE ("position" IS NOT NULL);

CREATE INDEX events_unnumbered ON public.events USING btree (seq) WHERE ("position" IS NULL);

CREATE UNIQUE INDEX tokens_by_hash ON public.tokens USING btree (secret_hash);

CREATE UNIQUE INDEX tokens_by_id ON public.tokens USING btree (token_id);

ALTER TABLE public.answers ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.audit ENABLE ROW LEVEL SECURITY;

CREATE POLICY background ON public.answers TO cardwire_system USING (true);

CREATE POLICY background ON public.audit FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.event_heads TO cardwire_system USING (true) WITH CHECK (true);

CREATE POLICY background ON public.events TO cardwire_system USING (true);

CREATE POLICY background ON public.resource_projects FOR SELECT TO cardwire_system USING (true);

CREATE POLICY background ON public.tokens FOR SELECT TO cardwire_system USING (true);

ALTER TABLE public.box_entries ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.card_boxes ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.cards ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_heads ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_projects ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON public.answers TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.audit TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.box_entries TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.card_boxes TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.cards TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.event_heads TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.events TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.resource_projects TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

CREATE POLICY tenant ON public.tokens TO cardwire_app USING ((project_id = current_setting('cardwire.project'::text, true))) WITH CHECK ((project_id = current_setting('cardwire.project'::text, true)));

ALTER TABLE public.tokens ENABLE ROW LEVEL SECURITY;

GRANT ALL ON SCHEMA public TO cardwire_owner;

REVOKE ALL ON FUNCTION public.cw_append_cards(in_project text, in_appends public.cw_append[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_append_cards(in_project text, in_appends public.cw_append[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_audit(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_audit(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_box_entry(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_box_entry(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_chain_at(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_chain_at(in_project text, in_rows jsonb) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.cards TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.cards TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.events TO cardwire_app;
GRANT SELECT ON TABLE public.events TO cardwire_system;

GRANT UPDATE("position") ON TABLE public.events TO cardwire_system;

REVOKE ALL ON FUNCTION public.cw_commit(in_project text, in_cards public.cards[], in_appends public.cw_append[], in_events public.events[], in_rest jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_commit(in_project text, in_cards public.cards[], in_appends public.cw_append[], in_events public.events[], in_rest jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_count_deletion(in_project text, in_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_count_deletion(in_project text, in_count integer) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_project(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_project(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_create_token(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_create_token(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_delete_card(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_event(in_events public.events[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_event(in_events public.events[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_expect(in_project text, in_rest jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_expect(in_project text, in_rest jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_open_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_open_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_project_at(in_project text, in_revisions jsonb, in_changes boolean) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_put_card(in_cards public.cards[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_put_card(in_cards public.cards[]) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_remember_answer(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_remember_answer(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_rest(in_project text, in_rest jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_rest(in_project text, in_rest jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_revoke_token(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_revoke_token(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_rewrite_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_seal_audit(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_seal_audit(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_seal_box(in_project text, in_rows jsonb) TO cardwire_app;

REVOKE ALL ON FUNCTION public.cw_update_project(in_project text, in_rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.cw_update_project(in_project text, in_rows jsonb) TO cardwire_app;

GRANT SELECT,INSERT ON TABLE public.answers TO cardwire_app;
GRANT SELECT,DELETE ON TABLE public.answers TO cardwire_system;

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

GRANT SELECT ON TABLE public.event_heads TO cardwire_app;
GRANT SELECT,INSERT ON TABLE public.event_heads TO cardwire_system;

GRANT UPDATE(last_position) ON TABLE public.event_heads TO cardwire_system;

GRANT SELECT,INSERT ON TABLE public.resource_projects TO cardwire_app;
GRANT SELECT ON TABLE public.resource_projects TO cardwire_system;

GRANT UPDATE(title) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(settings) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(revision) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(deletions) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(updated_at) ON TABLE public.resource_projects TO cardwire_app;

GRANT UPDATE(deleted_at) ON TABLE public.resource_projects TO cardwire_app;

GRANT SELECT ON TABLE public.schema_migrations TO cardwire_system;

GRANT SELECT,INSERT ON TABLE public.tokens TO cardwire_app;
GRANT SELECT ON TABLE public.tokens TO cardwire_system;

GRANT UPDATE(revoked_at) ON TABLE public.tokens TO cardwire_app;
