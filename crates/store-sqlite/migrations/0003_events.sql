-- The durable event log. The one writer numbers events while it commits, so position order is commit order.

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

CREATE INDEX events_by_agent ON events (project_id, agent_id, position) WHERE agent_id IS NOT NULL;
