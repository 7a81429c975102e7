-- The events of a transaction are one row, or a few when there are many. They are written together and read in order,
-- so a row for each was an insert, two entries of indexes and an update of its position for each, and nothing else.
-- A group gets the position of its last event; the others follow from their places in it.
CREATE TYPE cw_event_item AS (
    event_id      uuid,
    kind          text,
    target        text,
    channel       text,
    agent_id      text COLLATE "C",
    data          text,
    at            bigint,
    agent_turn_id uuid,
    batch_id      uuid,
    trace_id      text
);

-- Closed to its owner as well; it is about to go.
ALTER TABLE events NO FORCE ROW LEVEL SECURITY;
ALTER TABLE events RENAME TO single_events;
ALTER SEQUENCE events_seq_seq RENAME TO single_events_seq_seq;
DROP INDEX events_by_position, events_unnumbered;

CREATE TABLE events (
    project_id    text COLLATE "C" NOT NULL,
    seq           bigint GENERATED ALWAYS AS IDENTITY,
    last_position bigint,
    item_count    bigint NOT NULL,
    items         cw_event_item[] NOT NULL
);

-- What has a position is grouped by it; what has none yet stays in the order of its seq.
INSERT INTO events (project_id, seq, last_position, item_count, items) OVERRIDING SYSTEM VALUE
SELECT project_id, min(seq), max(position), count(*),
    array_agg(
        ROW (event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id, trace_id)::cw_event_item
        ORDER BY position)
FROM single_events
WHERE position IS NOT NULL
GROUP BY project_id, (position - 1) / 128
UNION ALL
SELECT project_id, seq, NULL, 1,
    ARRAY[ROW (event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id, trace_id)::cw_event_item]
FROM single_events
WHERE position IS NULL;
SELECT setval(pg_get_serial_sequence('events', 'seq'), (SELECT coalesce(max(seq), 0) + 1 FROM events), false);
DROP TABLE single_events;

CREATE UNIQUE INDEX events_by_position ON events (project_id, last_position) WHERE last_position IS NOT NULL;
-- What the sequencer has yet to number, over all projects.
CREATE INDEX events_unnumbered ON events (seq) WHERE last_position IS NULL;
