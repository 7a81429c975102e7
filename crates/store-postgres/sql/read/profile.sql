-- A profile, deleted or not.
CREATE OR REPLACE FUNCTION cw_read_profile(in_project text, in_profile text) RETURNS resource_profiles
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT p FROM resource_profiles p WHERE p.project_id = in_project AND p.profile_name = in_profile);
END
$$;
