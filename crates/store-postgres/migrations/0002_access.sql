-- Access: tokens, remembered answers, the audit log and its chain. Rows of the system itself carry '.system'.

CREATE TABLE tokens (
    project_id  text COLLATE "C" NOT NULL,
    token_id    uuid   NOT NULL,
    secret_hash bytea  NOT NULL,
    scopes      text   NOT NULL,
    created_at  bigint NOT NULL,
    expires_at  bigint,
    revoked_at  bigint,
    PRIMARY KEY (project_id, token_id)
);

CREATE UNIQUE INDEX tokens_by_hash ON tokens (secret_hash);
CREATE UNIQUE INDEX tokens_by_id ON tokens (token_id);

CREATE TABLE answers (
    project_id   text COLLATE "C" NOT NULL,
    caller       text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    request_hash bytea   NOT NULL,
    status       integer NOT NULL,
    body         text    NOT NULL,
    created_at   bigint  NOT NULL,
    PRIMARY KEY (project_id, caller, key)
);

CREATE INDEX answers_by_time ON answers (created_at);

CREATE TABLE audit (
    project_id text COLLATE "C" NOT NULL,
    seq        bigint GENERATED ALWAYS AS IDENTITY,
    actor      text   NOT NULL,
    action     text   NOT NULL,
    subject    text   NOT NULL,
    verdict    text   NOT NULL,
    detail     text   NOT NULL,
    at         bigint NOT NULL,
    position   bigint,
    hash       bytea,
    PRIMARY KEY (project_id, seq),
    CHECK ((position IS NULL) = (hash IS NULL))
);

CREATE UNIQUE INDEX audit_by_position ON audit (project_id, position) WHERE position IS NOT NULL;
CREATE INDEX audit_unsealed ON audit (project_id, seq) WHERE position IS NULL;
