-- Batches that are to be closed or are closed: each once, sorted by id by the caller. Only a batch that is running, and
-- closing for the reason that is known, changes. The project comes with each row (see cw_move_head).
CREATE OR REPLACE FUNCTION cw_close_batch(in_changes cw_batch_change[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE state_pmo_batches b
    SET status = u.status, closing = u.closing,
        result_card_id = CASE WHEN u.closes THEN u.result_card_id ELSE b.result_card_id END,
        closed_at = CASE WHEN u.closes THEN u.closed_at ELSE b.closed_at END
    FROM unnest(in_changes) AS u
    WHERE u.op = 'change' AND b.project_id = u.project_id AND b.batch_id = u.batch_id
        AND b.status = 'running' AND b.closing IS NOT DISTINCT FROM u.from_closing;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> cardinality(in_changes) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'batch';
    END IF;
    RETURN true;
END
$$;
