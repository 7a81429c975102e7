-- Which way a card came in tells whether a turn may name it (X-04, CB-15).
ALTER TYPE cw_card_fact ADD ATTRIBUTE origin text;
