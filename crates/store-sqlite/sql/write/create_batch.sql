INSERT INTO state_pmo_batches (project_id, batch_id, parent_agent_id, parent_agent_turn_id, parent_turn_epoch,
       parent_tool_call_id, channel_id, trace_id, depth, task_count, fail_fast, enough, parallel, result_tokens,
       deadline_at, created_at, status, closing, result_card_id, closed_at, parent_step_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
