-- New cards, sorted by id by the caller. The rows are rows of the table itself.
CREATE OR REPLACE FUNCTION cw_put_card(in_cards cards[]) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cards SELECT * FROM unnest(in_cards);
    RETURN true;
END
$$;
