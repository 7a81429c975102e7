-- Facts: projects, cards, boxes. Times are microseconds since 1970; ids are 16 bytes; every key starts with the
-- project, so that rows of different projects never meet.

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

-- One row per entry: a card, or a segment of another box.
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

-- A card is an entry of a generation once; appending it again is noticed here.
CREATE UNIQUE INDEX box_entries_by_card ON box_entries (project_id, box_id, generation, card_id)
    WHERE card_id IS NOT NULL;
