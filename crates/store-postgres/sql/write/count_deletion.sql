-- Counts deletions of cards. Called before the cards are marked: whoever deletes holds the project's row, so that
-- two deleters never wait for each other's cards.
CREATE OR REPLACE FUNCTION cw_count_deletion(in_project text, in_count integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE resource_projects SET deletions = deletions + in_count WHERE project_id = in_project;
    RETURN true;
END
$$;
