SELECT step_id, agent_id, agent_turn_id, turn_epoch, phase, status, call_id, request_box_id, output_len, trace_id,
       metadata, created_at, updated_at
FROM state_agent_steps
WHERE project_id = ?1 AND (created_at, step_id) < (?4, ?5)
  AND (?7 IS NULL OR trace_id = ?7) AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
  AND (?10 IS NULL OR status = ?10) AND (?11 IS NULL OR phase = ?11)
ORDER BY created_at DESC, step_id DESC
LIMIT ?6
