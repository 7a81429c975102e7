-- New values for sessions at the versions they are expected at: each once, sorted by the caller. The project comes with
-- each row, so that no plan can start from all sessions of a project.
CREATE OR REPLACE FUNCTION cw_update_session(in_sessions cw_session[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    updated integer;
BEGIN
    UPDATE state_sessions s
    SET version = u.version, checkpoint_card_id = u.checkpoint_card_id, created_at = u.created_at,
        updated_at = u.updated_at, deleted_at = u.deleted_at
    FROM unnest(in_sessions) AS u
    WHERE s.project_id = u.project_id AND s.namespace = u.namespace AND s.session_id = u.session_id
        AND s.version = u.was;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(in_sessions) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'session';
    END IF;
    RETURN true;
END
$$;
