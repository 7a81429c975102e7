-- The whole schema, as the replay of all migrations leaves it. Checked by a test.

CREATE TABLE answers (
    project_id   TEXT    NOT NULL,
    caller       TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    request_hash BLOB    NOT NULL,
    status       INTEGER NOT NULL,
    body         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (project_id, caller, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    project_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    verdict    TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    position   INTEGER,
    hash       BLOB,
    PRIMARY KEY (project_id, seq),
    CHECK ((position IS NULL) = (hash IS NULL))
) STRICT, WITHOUT ROWID;

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

CREATE TABLE events (
    project_id TEXT    NOT NULL,
    position   INTEGER NOT NULL,
    event_id   BLOB    NOT NULL,
    kind       TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    agent_id   TEXT,
    data       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (project_id, position)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE schema_migrations (
    number   INTEGER NOT NULL PRIMARY KEY,
    name     TEXT    NOT NULL,
    checksum TEXT    NOT NULL
) STRICT;

CREATE TABLE tokens (
    project_id  TEXT    NOT NULL,
    token_id    BLOB    NOT NULL,
    secret_hash BLOB    NOT NULL,
    scopes      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    PRIMARY KEY (project_id, token_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX answers_by_time ON answers (created_at);

CREATE UNIQUE INDEX audit_by_position ON audit (project_id, position) WHERE position IS NOT NULL;

CREATE INDEX audit_unsealed ON audit (project_id, seq) WHERE position IS NULL;

CREATE UNIQUE INDEX box_entries_by_card ON box_entries (project_id, box_id, generation, card_id)
    WHERE card_id IS NOT NULL;

CREATE INDEX events_by_agent ON events (project_id, agent_id, position) WHERE agent_id IS NOT NULL;

CREATE UNIQUE INDEX tokens_by_hash ON tokens (secret_hash);

CREATE UNIQUE INDEX tokens_by_id ON tokens (token_id);
