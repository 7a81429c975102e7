INSERT INTO state_tool_calls (project_id, agent_id, agent_turn_id, tool_call_id, call_card_id, waiting,
       answer_status, terminate, answer_card_id, answered_at, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
