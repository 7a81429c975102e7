-- All passages of sources, sorted by the caller; few sources, so one by one. None there is fine.
CREATE OR REPLACE FUNCTION cw_drop_passages(in_sources cw_source[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    item cw_source;
BEGIN
    FOREACH item IN ARRAY in_sources LOOP
        DELETE FROM resource_passages
        WHERE project_id = item.project_id AND kind = item.kind AND namespace = item.namespace
            AND source = item.source;
    END LOOP;
    RETURN true;
END
$$;
