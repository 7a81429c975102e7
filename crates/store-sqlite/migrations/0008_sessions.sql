-- Sessions, and passages with what finds them.

-- The last four columns change with every patch, and the version with them.
CREATE TABLE state_sessions (
    project_id         TEXT    NOT NULL,
    namespace          TEXT    NOT NULL,
    session_id         TEXT    NOT NULL,
    version            INTEGER NOT NULL,
    checkpoint_card_id BLOB    NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    deleted_at         INTEGER,
    PRIMARY KEY (project_id, namespace, session_id)
) STRICT, WITHOUT ROWID;

-- `passage_id` is where the row is in the index; VACUUM leaves it alone because it has a name.
CREATE TABLE resource_passages (
    passage_id   INTEGER NOT NULL PRIMARY KEY,
    project_id   TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    namespace    TEXT    NOT NULL,
    source       TEXT    NOT NULL,
    part         INTEGER NOT NULL,
    card_id      BLOB    NOT NULL,
    content_hash BLOB    NOT NULL,
    terms        TEXT    NOT NULL,
    embedding    BLOB,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX resource_passages_by_key ON resource_passages (project_id, kind, namespace, source, part);

-- The terms of each passage, by its `passage_id`. Every term begins with the shelf it stands on, so that a search looks
-- at nothing of other shelves, and counts nothing there: `bm25` asks of each term in how many rows of the whole table it
-- is. Terms are words already: the tokenizer `ascii` takes everything beyond ASCII as it is.
CREATE VIRTUAL TABLE resource_passage_terms USING fts5 (terms, content = '', contentless_delete = 1, tokenize = 'ascii');
