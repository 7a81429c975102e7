-- A turn is dispatched only to an agent whose row in the roster is as it was found (see docs/decisions/0039).
ALTER TYPE cw_head ADD ATTRIBUTE guard_revision bigint;
