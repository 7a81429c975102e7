SELECT agent_id, turn_epoch, status, active_agent_turn_id, inbox_id, waiting_tool_count, resume_deadline, channel_id,
       worker_target, profile_box_id, context_box_id, output_box_id, output_watermark, depth, trace_id,
       parent_step_id, dispatched_at, last_doorbell_at, deliverable_card_id, open_calls, marks, last_output_box_id,
       updated_at, queued
FROM state_agent_state_head
WHERE project_id = ?1 AND agent_id > ?2
ORDER BY agent_id
LIMIT ?3
