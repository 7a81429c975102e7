DELETE FROM answers
WHERE created_at < $1
