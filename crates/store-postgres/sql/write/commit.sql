-- A commit, or several of one realm: one statement, hence one transaction and one round trip. A commit of many rows is
-- several statements of one transaction, cut somewhere in the order that they have here (see src/commit/batch/parts.rs).
--
-- What is on the hot path comes as rows, everything else as JSON by kind: parsing JSON costs half as much again as
-- the whole hot path. `done := f(…)` instead of PERFORM, because plpgsql evaluates it without a query of its own.
-- Locks are taken in one order: the project, the chain, boxes, heads, batches, sessions, and then the rest, kind by
-- kind; shelves last.
-- Raises CW001 with the name of the conflict; whatever it raises, nothing was written.
CREATE OR REPLACE FUNCTION cw_commit(
    in_project text, in_boxes uuid[], in_outputs cw_output[], in_new_boxes card_boxes[], in_entries box_entries[],
    in_cards cards[], in_appends cw_append[], in_agents text[], in_moves cw_head[], in_copied integer,
    in_new_heads cw_head[], in_heads cw_head[], in_pmo cw_pmo_writes, in_new_sessions state_sessions[],
    in_sessions cw_session[],
    in_inbox state_agent_inbox[], in_inbox_updates cw_inbox_update[], in_more_inbox_updates cw_inbox_update[],
    in_edges state_execution_edges[], in_steps state_agent_steps[], in_step_updates state_agent_steps[],
    in_new_agents resource_project_agents[], in_identity_edges state_identity_edges[],
    in_seals audit[], in_audit audit[], in_passages cw_passage_writes, in_events events[],
    in_rest jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    tenant text;
    done boolean;
    item cw_inbox_update;
    stage jsonb;
BEGIN
    tenant := set_config('cardwire.project', in_project, true);
    IF in_rest IS NOT NULL THEN
        done := cw_expect(in_project, in_rest);
    END IF;
    IF in_boxes IS NOT NULL THEN
        done := cw_lock_boxes(in_project, in_boxes);
        IF in_outputs IS NOT NULL THEN
            done := cw_output_free(in_project, in_outputs);
        END IF;
        IF in_rest ? 'open_box' THEN
            done := cw_open_box(in_project, in_rest -> 'open_box');
        END IF;
    END IF;
    IF in_appends IS NOT NULL THEN
        done := cw_append_cards(in_project, in_appends);
    END IF;
    IF in_cards IS NOT NULL THEN
        done := cw_put_card(in_cards);
    END IF;
    IF in_agents IS NOT NULL THEN
        done := cw_lock_heads(in_project, in_agents);
    END IF;
    IF in_moves IS NOT NULL THEN
        done := cw_move_head(in_moves, in_copied);
    END IF;
    IF in_new_heads IS NOT NULL THEN
        done := cw_create_head(in_new_heads);
    END IF;
    IF in_heads IS NOT NULL THEN
        done := cw_heads(in_project, in_heads);
    END IF;
    -- What is neither null nor all nulls; `IS NOT NULL` would ask for a value in every field.
    IF NOT in_pmo IS NULL THEN
        done := cw_pmo(in_project, in_pmo);
    END IF;
    IF in_new_sessions IS NOT NULL THEN
        done := cw_create_session(in_new_sessions);
    END IF;
    IF in_sessions IS NOT NULL THEN
        done := cw_update_session(in_sessions);
    END IF;
    IF in_inbox IS NOT NULL THEN
        done := cw_enqueue(in_inbox);
    END IF;
    IF in_inbox_updates IS NOT NULL THEN
        done := cw_update_inbox(in_inbox_updates);
    END IF;
    IF in_more_inbox_updates IS NOT NULL THEN
        FOREACH item IN ARRAY in_more_inbox_updates LOOP
            done := cw_update_inbox(ARRAY[item]);
        END LOOP;
    END IF;
    IF in_edges IS NOT NULL THEN
        done := cw_add_edge(in_edges);
    END IF;
    IF in_steps IS NOT NULL THEN
        done := cw_create_step(in_steps);
    END IF;
    IF in_step_updates IS NOT NULL THEN
        done := cw_update_step(in_project, in_step_updates);
    END IF;
    IF in_new_boxes IS NOT NULL OR in_entries IS NOT NULL THEN
        done := cw_create_boxes(in_new_boxes, in_entries);
    END IF;
    IF in_new_agents IS NOT NULL THEN
        done := cw_create_agent(in_new_agents);
    END IF;
    IF in_identity_edges IS NOT NULL THEN
        done := cw_add_identity_edge(in_identity_edges);
    END IF;
    IF in_seals IS NOT NULL THEN
        done := cw_seal_audit(in_project, in_seals);
    END IF;
    IF in_audit IS NOT NULL THEN
        done := cw_audit(in_audit);
    END IF;
    IF in_rest IS NOT NULL THEN
        done := cw_rest(in_project, in_rest);
        FOR stage IN SELECT value FROM jsonb_array_elements(in_rest -> 'then') LOOP
            done := cw_expect(in_project, stage);
            done := cw_rest(in_project, stage);
        END LOOP;
    END IF;
    IF NOT in_passages IS NULL THEN
        done := cw_passages(in_project, in_passages);
    END IF;
    IF in_events IS NOT NULL THEN
        done := cw_event(in_events);
    END IF;
END
$$;
