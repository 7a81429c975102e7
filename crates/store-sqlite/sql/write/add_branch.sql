INSERT INTO state_pmo_batch_tasks (project_id, batch_id, task_index, status, agent_id, agent_turn_id, turn_epoch,
       context_box_id, output_box_id, attempts, next_attempt_at, deliverable_card_id, error_detail, error_code,
       warning, updated_at, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
