-- New edges, sorted by correlation by the caller. The rows are rows of the table itself.
CREATE OR REPLACE FUNCTION cw_add_edge(in_edges state_execution_edges[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_execution_edges SELECT * FROM unnest(in_edges);
    RETURN true;
END
$$;
