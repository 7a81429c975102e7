SELECT 1
WHERE (SELECT coalesce(max(position), 0) FROM audit WHERE project_id = ?1) = ?2
  AND CASE
        WHEN ?2 = 0 THEN ?3 = zeroblob(32)
        ELSE EXISTS (SELECT 1 FROM audit WHERE project_id = ?1 AND position = ?2 AND hash = ?3)
      END
