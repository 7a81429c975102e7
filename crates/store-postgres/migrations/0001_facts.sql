-- Facts: projects, cards, boxes. Times are microseconds since 1970; every key starts with the project, so that rows
-- of different projects never meet. Names are compared byte by byte (COLLATE "C"), as SQLite does.
-- Row-level security, policies and grants are not here but in sql/access.sql, which runs after every migration.

CREATE TABLE resource_projects (
    project_id  text COLLATE "C" NOT NULL PRIMARY KEY,
    title       text,
    settings    text   NOT NULL,
    revision    bigint NOT NULL,
    deletions   bigint NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    deleted_at  bigint
);

-- JSON is kept as text: jsonb merges keys and rewrites numbers, and these bytes are hashed.
CREATE TABLE cards (
    project_id   text COLLATE "C" NOT NULL,
    card_id      uuid    NOT NULL,
    kind         text    NOT NULL,
    role         text    NOT NULL,
    author_id    text,
    content      text    NOT NULL,
    content_hash bytea   NOT NULL,
    fact_hash    bytea   NOT NULL,
    tokens       bigint  NOT NULL,
    tool_calls   text,
    tool_call_id text,
    metadata     text    NOT NULL,
    origin       text    NOT NULL,
    credential   boolean NOT NULL,
    ttl_seconds  bigint,
    expires_at   bigint,
    deleted_at   bigint,
    created_at   bigint  NOT NULL,
    PRIMARY KEY (project_id, card_id)
);

-- Every append updates a head in place; the free space lets the new version stay on its page.
CREATE TABLE card_boxes (
    project_id    text COLLATE "C" NOT NULL,
    box_id        uuid    NOT NULL,
    generation    bigint  NOT NULL,
    len           bigint  NOT NULL,
    entries       bigint  NOT NULL,
    depth         integer NOT NULL,
    sealed        boolean NOT NULL,
    handover_hash bytea,
    created_at    bigint  NOT NULL,
    PRIMARY KEY (project_id, box_id)
) WITH (fillfactor = 70);

-- One row per entry: a card, or a segment of another box.
CREATE TABLE box_entries (
    project_id         text COLLATE "C" NOT NULL,
    box_id             uuid   NOT NULL,
    generation         bigint NOT NULL,
    seq                bigint NOT NULL,
    card_id            uuid,
    segment_box        uuid,
    segment_generation bigint,
    segment_len        bigint,
    source             text   NOT NULL,
    rule               integer,
    PRIMARY KEY (project_id, box_id, generation, seq),
    CHECK ((card_id IS NULL) = (segment_box IS NOT NULL))
);

-- A card is an entry of a generation once; appending it again is noticed here.
CREATE UNIQUE INDEX box_entries_by_card ON box_entries (project_id, box_id, generation, card_id)
    WHERE card_id IS NOT NULL;

-- How an append travels to cw_append_cards: a box at a generation, the lengths between which it must be, and the
-- cards in order.
CREATE TYPE cw_append AS (
    box_id     uuid,
    generation bigint,
    min_len    bigint,
    max_len    bigint,
    cards      uuid[]
);
