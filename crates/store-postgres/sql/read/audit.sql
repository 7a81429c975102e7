SELECT seq, actor, action, subject, verdict, detail, at, position, hash
FROM audit
WHERE project_id = $1 AND seq < $2
    AND ($4::text IS NULL OR actor = $4)
    AND ($5::bigint IS NULL OR at >= $5) AND ($6::bigint IS NULL OR at < $6)
    AND ($7::text IS NULL OR action = $7) AND ($8::text IS NULL OR subject = $8)
    AND ($9::text IS NULL OR verdict = $9)
ORDER BY seq DESC
LIMIT $3
