SELECT seq, actor, action, subject, verdict, detail, at, position, hash
FROM audit
WHERE project_id = ?1 AND seq < ?2
  AND (?4 IS NULL OR actor = ?4) AND (?5 IS NULL OR at >= ?5) AND (?6 IS NULL OR at < ?6)
ORDER BY seq DESC
LIMIT ?3
