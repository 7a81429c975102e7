INSERT INTO state_agent_inbox (
       project_id, inbox_id, agent_id, kind, status, agent_turn_id, turn_epoch, correlation_id, worker_target,
       channel_id, depth, trace_id, parent_agent_turn_id, parent_tool_call_id, parent_step_id, output_box_id, payload,
       worker_id, token_hash, created_at, processed_at, retry_count, next_retry_at, reason, task_status,
       deliverable_card_id, error, error_code, output_from, output_to, ended_at, batch_id, task_index)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
       ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33)
