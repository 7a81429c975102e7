-- Box heads.
SELECT found.head
FROM unnest({boxes}) AS wanted (box_id)
CROSS JOIN LATERAL (
    SELECT b AS head FROM card_boxes b WHERE b.project_id = {tenant} AND b.box_id = wanted.box_id OFFSET 0
) AS found
