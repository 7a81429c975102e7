SELECT agent_id, turn_epoch, status, active_agent_turn_id, inbox_id, waiting_tool_count, resume_deadline, channel_id,
       worker_target, profile_box_id, context_box_id, output_box_id, output_watermark, depth, trace_id,
       parent_step_id, dispatched_at, last_doorbell_at, deliverable_card_id, open_calls, marks, last_output_box_id,
       updated_at, queued, project_id
FROM state_agent_state_head INDEXED BY state_agent_state_head_busy
WHERE (status <> 'idle' OR queued > 0) AND (project_id, agent_id) > (?1, ?2)
  AND CASE status
        WHEN 'dispatched' THEN dispatched_at <= ?3
        WHEN 'running' THEN updated_at <= ?4
        WHEN 'suspended' THEN resume_deadline <= ?5
        ELSE 1
      END
ORDER BY project_id, agent_id
LIMIT ?6
