-- New sessions: each once, sorted by the caller.
CREATE OR REPLACE FUNCTION cw_create_session(in_sessions state_sessions[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_sessions SELECT * FROM unnest(in_sessions);
    RETURN true;
END
$$;
