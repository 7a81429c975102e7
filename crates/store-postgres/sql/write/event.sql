-- Events, in order. Called last: the sequence is drawn when every row lock of the commit is held, so that for one
-- box or agent the order of seq is the order of commits (see src/sequencer.rs).
CREATE OR REPLACE FUNCTION cw_event(in_events events[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (project_id, event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id,
        trace_id)
    SELECT project_id, event_id, kind, target, channel, agent_id, data, at, agent_turn_id, batch_id, trace_id
    FROM unnest(in_events);
    RETURN true;
END
$$;
