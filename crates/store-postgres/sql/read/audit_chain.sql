SELECT seq, actor, action, subject, verdict, detail, at, position, hash
FROM audit
WHERE project_id = $1 AND position > $2
ORDER BY position
LIMIT $3
