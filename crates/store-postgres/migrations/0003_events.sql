-- The durable event log. `seq` is drawn by the writer and is not commit order between independent writers;
-- `position` is given afterwards, to committed rows only, by the sequencer (src/sequencer.rs).

CREATE TABLE events (
    project_id text COLLATE "C" NOT NULL,
    seq        bigint GENERATED ALWAYS AS IDENTITY,
    position   bigint,
    event_id   uuid   NOT NULL,
    kind       text   NOT NULL,
    target     text   NOT NULL,
    channel    text   NOT NULL,
    agent_id   text COLLATE "C",
    data       text   NOT NULL,
    at         bigint NOT NULL,
    PRIMARY KEY (project_id, seq)
);

CREATE UNIQUE INDEX events_by_position ON events (project_id, position) WHERE position IS NOT NULL;
CREATE INDEX events_by_agent ON events (project_id, agent_id, position)
    WHERE agent_id IS NOT NULL AND position IS NOT NULL;
-- What the sequencer has yet to number, over all projects.
CREATE INDEX events_unnumbered ON events (seq) WHERE position IS NULL;

-- The last position given in each project's log.
CREATE TABLE event_heads (
    project_id    text COLLATE "C" NOT NULL PRIMARY KEY,
    last_position bigint NOT NULL
);
