-- New values for inbox rows that are in the states they are expected in: each row once, sorted by id by the caller.
-- What came with a row is left alone. The project comes with each row (see cw_move_head).
CREATE OR REPLACE FUNCTION cw_update_inbox(in_items cw_inbox_update[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    updated integer;
BEGIN
    UPDATE state_agent_inbox i
    SET status = u.status, turn_epoch = u.turn_epoch, worker_id = u.worker_id, token_hash = u.token_hash,
        processed_at = u.processed_at, retry_count = u.retry_count, next_retry_at = u.next_retry_at,
        reason = u.reason, task_status = u.task_status, deliverable_card_id = u.deliverable_card_id,
        error = u.error, error_code = u.error_code, output_from = u.output_from,
        output_until = u.output_until, ended_at = u.ended_at
    FROM unnest(in_items) AS u
    WHERE u.op = 'update' AND i.project_id = u.project_id AND i.inbox_id = u.inbox_id AND i.status = u.from_status;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(in_items) THEN
        RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'inbox';
    END IF;
    RETURN true;
END
$$;
