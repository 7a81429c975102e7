-- The snapshot a decision is made on: one statement, hence one round trip and one moment (the function is STABLE, so
-- everything it calls sees what the statement sees). Keys that are null are not asked for.
CREATE OR REPLACE FUNCTION cw_load(
    in_project text, in_wants_project boolean, in_cards uuid[], in_boxes uuid[], in_member_box uuid,
    in_member_cards uuid[], in_token uuid, in_caller text, in_key text, in_agent text, in_turn uuid,
    in_next bigint, in_depth_of uuid, in_inbox uuid, in_correlation text, in_primitive text, in_phase text,
    in_step text, in_writers_of uuid[], in_profile text) RETURNS cw_snapshot
LANGUAGE plpgsql STABLE AS $$
DECLARE
    tenant text;
    found cw_snapshot;
    head_of text := in_agent;
    wanted uuid[] := in_boxes;
BEGIN
    tenant := set_config('cardwire.project', in_project, true);
    IF in_wants_project THEN
        found.project := cw_read_project(in_project);
    END IF;
    IF in_cards IS NOT NULL THEN
        found.cards := cw_read_card_facts(in_project, in_cards);
    END IF;
    IF in_member_cards IS NOT NULL THEN
        found.members := cw_read_members(in_project, in_member_box, in_member_cards);
    END IF;
    IF in_token IS NOT NULL THEN
        found.token := cw_read_token(in_project, in_token);
    END IF;
    IF in_key IS NOT NULL THEN
        found.answer := cw_read_answer(in_project, in_caller, in_key);
    END IF;
    IF in_agent IS NOT NULL THEN
        found.agent := cw_read_agent(in_project, in_agent);
    END IF;
    IF in_turn IS NOT NULL THEN
        found.turn := cw_read_turn(in_project, in_turn);
        IF (found.turn).agent_id IS NOT NULL THEN
            head_of := (found.turn).agent_id;
            wanted := wanted || (found.turn).output_box_id;
            found.calls := cw_read_turn_calls(in_project, in_turn);
            found.reports := cw_read_turn_reports(in_project, in_turn);
            found.next := cw_read_next_turns(in_project, head_of, in_next);
        END IF;
    END IF;
    IF head_of IS NOT NULL THEN
        found.head := cw_read_head(in_project, head_of);
        IF (found.head).agent_id IS NULL THEN
            found.is_lost := true;
            found.lost_copy := cw_read_lost_copy(in_project, head_of);
            found.lost_epoch := cw_read_lost_epoch(in_project, head_of);
            found.lost_turn := cw_read_lost_turn(in_project, head_of);
            found.lost_output_box := cw_read_lost_output_box(in_project, head_of);
            found.lost_queued := cw_read_lost_queued(in_project, head_of);
        END IF;
    END IF;
    IF wanted IS NOT NULL THEN
        found.boxes := cw_read_boxes(in_project, wanted);
    END IF;
    IF in_depth_of IS NOT NULL THEN
        found.depth := cw_read_depth(in_project, in_depth_of);
    END IF;
    IF in_inbox IS NOT NULL THEN
        found.inbox := cw_read_inbox_item(in_project, in_inbox);
    END IF;
    IF in_correlation IS NOT NULL THEN
        found.edge := cw_read_edge(in_project, in_correlation, in_primitive, in_phase);
    END IF;
    IF in_step IS NOT NULL THEN
        found.step := cw_read_step(in_project, in_step);
    END IF;
    IF in_writers_of IS NOT NULL THEN
        found.writers := cw_read_writers(in_project, in_writers_of);
    END IF;
    IF in_profile IS NOT NULL THEN
        found.profile := cw_read_profile(in_project, in_profile);
    END IF;
    RETURN found;
END
$$;
