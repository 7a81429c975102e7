-- A remembered answer.
SELECT a FROM answers a WHERE a.project_id = {tenant} AND a.caller = {caller} AND a.key = {key}
