-- Access: tokens, remembered answers, the audit log and its chain. Rows of the system itself carry '.system'.

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

CREATE UNIQUE INDEX tokens_by_hash ON tokens (secret_hash);
CREATE UNIQUE INDEX tokens_by_id ON tokens (token_id);

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

CREATE INDEX answers_by_time ON answers (created_at);

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

CREATE UNIQUE INDEX audit_by_position ON audit (project_id, position) WHERE position IS NOT NULL;
CREATE INDEX audit_unsealed ON audit (project_id, seq) WHERE position IS NULL;
