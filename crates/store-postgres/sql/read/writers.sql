-- Agents whose open turns write these boxes.
SELECT DISTINCT found.writer
FROM unnest({boxes}) AS wanted (box_id)
CROSS JOIN LATERAL (
    SELECT (i.output_box_id, i.agent_id)::cw_output AS writer
    FROM state_agent_inbox i
    WHERE i.project_id COLLATE "POSIX" = {tenant} AND i.output_box_id = wanted.box_id AND i.kind = 'turn'
        AND i.status IN ('queued', 'pending', 'processing', 'deferred')
    OFFSET 0
) AS found
