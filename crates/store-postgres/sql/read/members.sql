-- Which of some cards are direct entries of a box.
SELECT found.card_id
FROM (SELECT generation FROM card_boxes WHERE project_id = {tenant} AND box_id = {box}) AS b
CROSS JOIN unnest({cards}) AS wanted (card_id)
CROSS JOIN LATERAL (
    SELECT e.card_id
    FROM box_entries e
    WHERE e.project_id = {tenant} AND e.box_id = {box} AND e.generation = b.generation AND e.card_id = wanted.card_id
    OFFSET 0
) AS found
