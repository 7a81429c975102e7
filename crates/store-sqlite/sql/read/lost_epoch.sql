SELECT max(
         coalesce((
           SELECT max(turn_epoch)
           FROM state_agent_inbox INDEXED BY state_agent_inbox_by_agent
           WHERE project_id = ?1 AND agent_id = ?2
         ), 0),
         coalesce((
           SELECT max(turn_epoch)
           FROM state_agent_steps INDEXED BY state_agent_steps_by_agent
           WHERE project_id = ?1 AND agent_id = ?2
         ), 0)
       )
