SELECT 1
FROM card_boxes
WHERE project_id = ?1 AND box_id = ?2 AND sealed = 0
  AND NOT EXISTS (
        SELECT 1
        FROM state_agent_inbox INDEXED BY state_agent_inbox_writers
        WHERE project_id = ?1 AND output_box_id = ?2 AND agent_id IS NOT ?3
          AND kind = 'turn' AND (status = 'queued' OR status = 'pending' OR status = 'processing' OR status = 'deferred')
      )
