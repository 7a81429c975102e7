-- A commit, or several of one realm: one statement, hence one transaction and one round trip.
--
-- Cards, appends and events come as rows, everything else as JSON by kind: parsing JSON costs half as much again as
-- the whole hot path. `done := f(…)` instead of PERFORM, because plpgsql evaluates it without a query of its own.
-- Raises CW001 with the name of the conflict; whatever it raises, nothing was written.
CREATE OR REPLACE FUNCTION cw_commit(in_project text, in_cards cards[], in_appends cw_append[], in_events events[], in_rest jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    tenant text;
    done boolean;
    stage jsonb;
BEGIN
    tenant := set_config('cardwire.project', in_project, true);
    IF in_rest IS NOT NULL THEN
        done := cw_expect(in_project, in_rest);
    END IF;
    IF in_appends IS NOT NULL THEN
        done := cw_append_cards(in_project, in_appends);
    END IF;
    IF in_cards IS NOT NULL THEN
        done := cw_put_card(in_cards);
    END IF;
    IF in_rest IS NOT NULL THEN
        done := cw_rest(in_project, in_rest);
        FOR stage IN SELECT value FROM jsonb_array_elements(in_rest -> 'then') LOOP
            done := cw_expect(in_project, stage);
            done := cw_rest(in_project, stage);
        END LOOP;
    END IF;
    IF in_events IS NOT NULL THEN
        done := cw_event(in_events);
    END IF;
END
$$;
