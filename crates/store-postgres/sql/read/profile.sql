-- A profile.
SELECT p FROM resource_profiles p WHERE p.project_id = {tenant} AND p.profile_name = {profile}
