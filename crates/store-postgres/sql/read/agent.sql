-- An agent of the roster.
CREATE OR REPLACE FUNCTION cw_read_agent(in_project text, in_agent text) RETURNS resource_project_agents
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT a FROM resource_project_agents a WHERE a.project_id = in_project AND a.agent_id = in_agent);
END
$$;
