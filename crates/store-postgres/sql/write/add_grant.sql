-- Boxes that were handed to agents, sorted by the caller. There already is fine: the first one stays.
CREATE OR REPLACE FUNCTION cw_add_grant(in_grants state_box_grants[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO state_box_grants SELECT * FROM unnest(in_grants) ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;
