UPDATE state_sessions
SET version = ?1, checkpoint_card_id = ?2, created_at = ?3, updated_at = ?4, deleted_at = ?5
WHERE project_id = ?6 AND namespace = ?7 AND session_id = ?8 AND version = ?9
