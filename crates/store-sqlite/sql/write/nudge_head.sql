UPDATE state_agent_state_head
SET updated_at = max(updated_at, coalesce(?8, updated_at)), last_doorbell_at = coalesce(?9, last_doorbell_at),
    queued = queued + ?10, deliverable_card_id = coalesce(?11, deliverable_card_id), open_calls = open_calls + ?12,
    marks = marks + ?13
WHERE project_id = ?1 AND agent_id = ?2 AND turn_epoch = ?3 AND status = ?4 AND (?5 IS NULL OR marks = ?5)
  AND queued BETWEEN ?6 AND ?7
