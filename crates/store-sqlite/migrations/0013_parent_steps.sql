-- The step of the caller's turn that made an agent, or forked (PM-02, DP-02).
ALTER TABLE state_identity_edges ADD COLUMN parent_step_id TEXT;
ALTER TABLE state_pmo_batches ADD COLUMN parent_step_id TEXT;
