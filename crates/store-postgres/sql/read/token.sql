-- A token.
SELECT t FROM tokens t WHERE t.project_id = {tenant} AND t.token_id = {token}
