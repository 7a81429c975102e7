-- An edge of the project's own scope.
CREATE OR REPLACE FUNCTION cw_read_edge(in_project text, in_correlation text, in_primitive text, in_phase text)
RETURNS state_execution_edges
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT e
        FROM state_execution_edges e
        WHERE e.project_id = in_project AND e.correlation_id = in_correlation AND e.primitive = in_primitive
            AND e.edge_phase = in_phase AND e.scope = '00000000-0000-0000-0000-000000000000');
END
$$;
