-- Looked up one by one: an agent may have been handed many boxes.
SELECT found.box_id
FROM unnest($3::uuid[]) AS wanted (box_id)
CROSS JOIN LATERAL (
    SELECT g.box_id
    FROM state_box_grants g
    WHERE g.project_id = $1 AND g.agent_id = $2 AND g.box_id = wanted.box_id
    OFFSET 0
) AS found
