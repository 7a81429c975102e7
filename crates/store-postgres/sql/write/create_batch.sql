-- New batches, sorted by id by the caller. The rows are rows of the table itself.
CREATE OR REPLACE FUNCTION cw_create_batch(in_batches state_pmo_batches[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_pmo_batches SELECT * FROM unnest(in_batches);
    RETURN true;
END
$$;
