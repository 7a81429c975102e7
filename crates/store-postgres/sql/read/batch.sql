-- A batch.
SELECT b FROM state_pmo_batches b WHERE b.project_id = {tenant} AND b.batch_id = {batch}
