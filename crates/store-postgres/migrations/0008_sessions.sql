-- Sessions, and passages with what finds them.

-- Changed by every patch, on the page where the row stands.
CREATE TABLE state_sessions (
    project_id         text COLLATE "C" NOT NULL,
    namespace          text COLLATE "C" NOT NULL,
    session_id         text COLLATE "C" NOT NULL,
    version            bigint NOT NULL,
    checkpoint_card_id uuid   NOT NULL,
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL,
    deleted_at         bigint,
    PRIMARY KEY (project_id, namespace, session_id)
) WITH (fillfactor = 70);

-- `lexemes` are what a passage is found by: digests of its terms together with the shelf they stand on, so that whoever
-- reads the index across tenants reads no words, and a search looks at nothing of other shelves.
CREATE TABLE resource_passages (
    project_id   text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    namespace    text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    part         bigint   NOT NULL,
    card_id      uuid     NOT NULL,
    content_hash bytea    NOT NULL,
    terms        text     NOT NULL,
    embedding    bytea,
    created_at   bigint   NOT NULL,
    lexemes      tsvector NOT NULL,
    PRIMARY KEY (project_id, kind, namespace, source, part)
);

-- Numbers that look random: trying to compress them is in vain.
ALTER TABLE resource_passages ALTER COLUMN embedding SET STORAGE EXTERNAL;

-- Without the list of entries still to be sorted in: a search would walk all of it, whosever they are.
CREATE INDEX resource_passages_lexemes ON resource_passages USING gin (lexemes) WITH (fastupdate = off);

-- How a change of a session travels: the version it must have, and the new values.
CREATE TYPE cw_session AS (
    project_id         text,
    namespace          text,
    session_id         text,
    was                bigint,
    version            bigint,
    checkpoint_card_id uuid,
    created_at         bigint,
    updated_at         bigint,
    deleted_at         bigint
);

-- A source whose passages go.
CREATE TYPE cw_source AS (
    project_id text,
    kind       text,
    namespace  text,
    source     text
);

-- How a passage travels: its row, with the lexemes as text.
CREATE TYPE cw_passage AS (
    project_id   text,
    kind         text,
    namespace    text,
    source       text,
    part         bigint,
    card_id      uuid,
    content_hash bytea,
    terms        text,
    embedding    bytea,
    created_at   bigint,
    lexemes      text
);

-- What a commit does to passages: the shelves it touches, what goes, and then what comes. Most commits have nothing of
-- it.
CREATE TYPE cw_passage_writes AS (
    shelves  text[],
    dropped  cw_source[],
    passages cw_passage[]
);
