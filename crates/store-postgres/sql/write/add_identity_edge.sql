-- How agents came to be, sorted by id by the caller. The rows are rows of the table itself.
CREATE OR REPLACE FUNCTION cw_add_identity_edge(in_edges state_identity_edges[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_identity_edges SELECT * FROM unnest(in_edges);
    RETURN true;
END
$$;
