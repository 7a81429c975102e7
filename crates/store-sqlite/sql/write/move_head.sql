UPDATE state_agent_state_head
SET turn_epoch = ?3, status = ?4, active_agent_turn_id = ?5, inbox_id = ?6, waiting_tool_count = ?7,
    resume_deadline = ?8, channel_id = ?9, worker_target = ?10, profile_box_id = ?11, context_box_id = ?12,
    output_box_id = ?13, output_watermark = ?14, depth = ?15, trace_id = ?16, parent_step_id = ?17,
    dispatched_at = ?18, last_doorbell_at = ?19, deliverable_card_id = ?20, open_calls = ?21, marks = ?22,
    last_output_box_id = ?23, updated_at = ?24, queued = queued + ?25
WHERE project_id = ?1 AND agent_id = ?2 AND turn_epoch = ?26 AND status = ?27 AND (?28 IS NULL OR marks = ?28)
  AND queued BETWEEN ?29 AND ?30
  AND (?31 IS NULL OR ?31 = (
    SELECT revision FROM resource_project_agents WHERE project_id = ?1 AND agent_id = ?2))
