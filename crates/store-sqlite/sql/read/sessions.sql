SELECT namespace, session_id, version, checkpoint_card_id, created_at, updated_at, deleted_at
FROM state_sessions
WHERE project_id = ?1 AND namespace = ?2 AND session_id > ?3
ORDER BY session_id
LIMIT ?4
