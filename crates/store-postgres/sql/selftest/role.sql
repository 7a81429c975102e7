-- Who this connection acts as, and what that role could do beyond its rights.
SELECT current_user::text,
       r.rolsuper,
       r.rolbypassrls,
       EXISTS (SELECT 1 FROM pg_class c WHERE c.relowner = r.oid AND c.relkind IN ('r', 'p')),
       EXISTS (
           SELECT 1
           FROM pg_auth_members m
           JOIN pg_roles other ON other.oid = m.roleid
           WHERE m.member = r.oid)
FROM pg_roles r
WHERE r.rolname = current_user
