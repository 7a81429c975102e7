-- How agents came to be.
CREATE OR REPLACE FUNCTION cw_add_identity_edge(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_identity_edges (project_id, edge_id, action, source_agent_id, target_agent_id, channel_id,
        trace_id, metadata, created_at)
    SELECT in_project, edge_id, action, source_agent_id, target_agent_id, channel_id, trace_id, metadata, created_at
    FROM jsonb_populate_recordset(NULL::state_identity_edges, in_rows)
    ORDER BY edge_id;
    RETURN true;
END
$$;
