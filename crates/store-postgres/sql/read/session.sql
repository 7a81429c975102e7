-- A session.
SELECT s FROM state_sessions s WHERE s.project_id = {tenant} AND s.namespace = {namespace} AND s.session_id = {session}
