SELECT seq, actor, action, subject, verdict, detail, at, position, hash
FROM audit INDEXED BY audit_unsealed
WHERE project_id = ?1 AND position IS NULL
ORDER BY seq
LIMIT ?2
