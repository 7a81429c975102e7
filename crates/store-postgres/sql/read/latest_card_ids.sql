SELECT card_id
FROM cards
WHERE project_id = $1 AND card_id <= $2
ORDER BY card_id DESC
LIMIT $3
