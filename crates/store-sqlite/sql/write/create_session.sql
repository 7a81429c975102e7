INSERT INTO state_sessions (version, checkpoint_card_id, created_at, updated_at, deleted_at, project_id, namespace,
                            session_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
