SELECT 1
WHERE coalesce((
        SELECT position FROM audit INDEXED BY audit_by_position
        WHERE project_id = ?1 AND position IS NOT NULL
        ORDER BY position DESC
        LIMIT 1
      ), 0) = ?2
  AND CASE
        WHEN ?2 = 0 THEN ?3 = zeroblob(32)
        ELSE EXISTS (SELECT 1 FROM audit WHERE project_id = ?1 AND position = ?2 AND hash = ?3)
      END
