UPDATE state_agent_inbox
SET status = ?4, turn_epoch = ?5, worker_id = ?6, token_hash = ?7, processed_at = ?8, retry_count = ?9,
    next_retry_at = ?10, reason = ?11, task_status = ?12, deliverable_card_id = ?13, error = ?14, error_code = ?15,
    output_from = ?16, output_to = ?17, ended_at = ?18
WHERE project_id = ?1 AND inbox_id = ?2 AND status = ?3
