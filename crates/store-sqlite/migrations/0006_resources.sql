-- Documents under names: tools, recipes, teams.
CREATE TABLE resource_documents (
    project_id TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    card_id    BLOB    NOT NULL,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (project_id, kind, name)
) STRICT, WITHOUT ROWID;
