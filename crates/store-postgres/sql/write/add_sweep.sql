-- Whose descendants are to be stopped, sorted by the caller. There already is fine.
CREATE OR REPLACE FUNCTION cw_add_sweep(in_sweeps state_pmo_sweeps[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_pmo_sweeps SELECT * FROM unnest(in_sweeps) ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;
