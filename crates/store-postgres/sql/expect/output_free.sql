-- Boxes, locked before, exist, are not sealed, and no open turn of another agent writes them (CB-14). A statement of its
-- own after the lock: it sees the turns of whoever held the lock before. Two ranges instead of `<>`, so that the index
-- finds another agent without reading all that wait of this one. Where no agent is named all are others: no id is beyond
-- `~`.
CREATE OR REPLACE FUNCTION cw_output_free(in_project text, in_outputs cw_output[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_output;
BEGIN
    FOREACH item IN ARRAY in_outputs LOOP
        PERFORM 1
        FROM card_boxes b
        WHERE b.project_id = in_project AND b.box_id = item.box_id AND NOT b.sealed
            AND (
                SELECT i.agent_id
                FROM state_agent_inbox i
                WHERE i.project_id = in_project AND i.output_box_id = item.box_id AND i.agent_id < coalesce(item.agent_id, '~')
                    AND i.kind = 'turn' AND i.status IN ('queued', 'pending', 'processing', 'deferred')
                LIMIT 1) IS NULL
            AND (
                SELECT i.agent_id
                FROM state_agent_inbox i
                WHERE i.project_id = in_project AND i.output_box_id = item.box_id AND i.agent_id > coalesce(item.agent_id, '~')
                    AND i.kind = 'turn' AND i.status IN ('queued', 'pending', 'processing', 'deferred')
                LIMIT 1) IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'box';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
