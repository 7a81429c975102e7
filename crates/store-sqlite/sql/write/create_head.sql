INSERT INTO state_agent_state_head (
       project_id, agent_id, turn_epoch, status, active_agent_turn_id, inbox_id, waiting_tool_count, resume_deadline,
       channel_id, worker_target, profile_box_id, context_box_id, output_box_id, output_watermark, depth, trace_id,
       parent_step_id, dispatched_at, last_doorbell_at, deliverable_card_id, open_calls, marks, last_output_box_id,
       updated_at, queued)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
       ?24, ?25
WHERE NOT EXISTS (
       SELECT 1 FROM state_snapshots s
       WHERE s.project_id = ?1 AND s.agent_id = ?2
         AND (s.turn_epoch > ?3 OR (s.turn_epoch = ?3 AND ?4 <> 'idle')))
