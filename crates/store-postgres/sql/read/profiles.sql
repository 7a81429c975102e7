SELECT p
FROM resource_profiles p
WHERE p.project_id = $1 AND p.profile_name > $2
ORDER BY p.profile_name
LIMIT $3
