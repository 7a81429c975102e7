SELECT EXISTS (SELECT 1 FROM state_pmo_batch_tasks WHERE project_id = ?1 AND batch_id = ?2 AND status = 'pending')
    OR EXISTS (SELECT 1 FROM state_pmo_batch_tasks WHERE project_id = ?1 AND batch_id = ?2 AND status = 'dispatched'),
       EXISTS (SELECT 1 FROM state_pmo_batch_tasks WHERE project_id = ?1 AND batch_id = ?2 AND status = 'failed')
    OR EXISTS (SELECT 1 FROM state_pmo_batch_tasks WHERE project_id = ?1 AND batch_id = ?2 AND status = 'canceled')
    OR EXISTS (SELECT 1 FROM state_pmo_batch_tasks WHERE project_id = ?1 AND batch_id = ?2 AND status = 'timeout'),
       (SELECT count(*) FROM (
          SELECT 1 FROM state_pmo_batch_tasks
          WHERE project_id = ?1 AND batch_id = ?2 AND status = 'success'
          LIMIT ?3)),
       (SELECT count(*) FROM (
          SELECT 1 FROM state_pmo_batch_tasks
          WHERE project_id = ?1 AND batch_id = ?2 AND status = 'dispatched'
          LIMIT ?4))
