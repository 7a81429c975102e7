SELECT seq, actor, action, subject, verdict, detail, at, position, hash
FROM audit
WHERE project_id = $1 AND seq < $2
ORDER BY seq DESC
LIMIT $3
