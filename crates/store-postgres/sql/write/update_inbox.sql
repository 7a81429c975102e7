-- New values for inbox rows that are in the states they are expected in, sorted by id by the caller. What came with a
-- row is left alone. Updates of one row are applied in their order, one round each; there is almost always one round.
-- The list of ids keeps a plan that was made while the table was empty from reading all rows of the project.
CREATE OR REPLACE FUNCTION cw_update_inbox(in_project text, in_items cw_inbox_update[], in_ids uuid[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    rounds constant integer := in_items[cardinality(in_items)].nth;
    wanted integer := cardinality(in_items);
    updated integer;
BEGIN
    FOR round IN 0 .. rounds LOOP
        IF rounds > 0 THEN
            wanted := (SELECT count(*) FROM unnest(in_items) WHERE nth = round);
        END IF;
        UPDATE state_agent_inbox i
        SET status = u.status, turn_epoch = u.turn_epoch, worker_id = u.worker_id, token_hash = u.token_hash,
            processed_at = u.processed_at, retry_count = u.retry_count, next_retry_at = u.next_retry_at,
            reason = u.reason, task_status = u.task_status, deliverable_card_id = u.deliverable_card_id,
            error = u.error, error_code = u.error_code, output_from = u.output_from,
            output_until = u.output_until, ended_at = u.ended_at
        FROM unnest(in_items) AS u
        WHERE i.project_id = in_project AND i.inbox_id = ANY (in_ids) AND i.inbox_id = u.inbox_id AND u.nth = round
            AND i.status = u.from_status;
        GET DIAGNOSTICS updated = ROW_COUNT;
        IF updated <> wanted THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'inbox';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
