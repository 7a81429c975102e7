-- Sweeps that were done, sorted by the caller; few, so one by one. Gone already is fine.
CREATE OR REPLACE FUNCTION cw_end_sweep(in_sweeps state_pmo_sweeps[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item state_pmo_sweeps;
BEGIN
    FOREACH item IN ARRAY in_sweeps LOOP
        DELETE FROM state_pmo_sweeps
        WHERE project_id = item.project_id AND scope = item.scope AND subject_id = item.subject_id;
    END LOOP;
    RETURN true;
END
$$;
