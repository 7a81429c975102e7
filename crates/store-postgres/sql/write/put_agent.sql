-- New agents of the roster, sorted by id by the caller. The rows are rows of the table itself.
CREATE OR REPLACE FUNCTION cw_create_agent(in_agents resource_project_agents[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO resource_project_agents SELECT * FROM unnest(in_agents);
    RETURN true;
END
$$;

-- New values for agents of the roster at the revision they are expected at, one after the other.
CREATE OR REPLACE FUNCTION cw_put_agent(in_project text, in_rows jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT r.*, (e.value ->> 'was')::bigint AS was
        FROM jsonb_array_elements(in_rows) WITH ORDINALITY AS e (value, place),
            jsonb_populate_record(NULL::resource_project_agents, e.value) AS r
        ORDER BY r.agent_id, e.place
    LOOP
        UPDATE resource_project_agents
        SET profile_name = item.profile_name, profile_box_id = item.profile_box_id,
            worker_target = item.worker_target, display_name = item.display_name, tags = item.tags,
            owner_agent_id = item.owner_agent_id, metadata = item.metadata, revision = item.revision,
            created_at = item.created_at, updated_at = item.updated_at
        WHERE project_id = in_project AND agent_id = item.agent_id AND revision = item.was;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'CW001', MESSAGE = 'roster';
        END IF;
    END LOOP;
    RETURN true;
END
$$;
