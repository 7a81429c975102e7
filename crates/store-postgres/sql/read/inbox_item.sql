-- An inbox row.
CREATE OR REPLACE FUNCTION cw_read_inbox_item(in_project text, in_inbox uuid) RETURNS state_agent_inbox
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT i FROM state_agent_inbox i WHERE i.project_id = in_project AND i.inbox_id = in_inbox);
END
$$;
