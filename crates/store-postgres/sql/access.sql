-- Who may do what (SEC-04). Runs in the migration's transaction whenever anything of the schema changed, so that a
-- new table is closed before anybody can reach it. {app} and {system} are role names.

-- Every table with a project_id is closed, also to its owner, and open to the app for the current project only.
-- The rule compares under another collation than the indexes have, with the same result: a statement that names its
-- rows by a better key must not be planned to read all rows of the project because the rule names the project.
DO $closed$
DECLARE
    relation record;
BEGIN
    FOR relation IN
        SELECT c.oid, c.relname
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', relation.relname);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', relation.relname);
        EXECUTE format('DROP POLICY IF EXISTS tenant ON %I', relation.relname);
        EXECUTE format('DROP POLICY IF EXISTS background ON %I', relation.relname);
        EXECUTE format(
            'CREATE POLICY tenant ON %I TO {app}
                 USING (project_id COLLATE "POSIX" = current_setting(''cardwire.project'', true))
                 WITH CHECK (project_id COLLATE "POSIX" = current_setting(''cardwire.project'', true))',
            relation.relname);
        EXECUTE format('REVOKE ALL ON %I FROM PUBLIC, {app}, {system}', relation.relname);
    END LOOP;
END
$closed$;

GRANT USAGE ON SCHEMA public TO {app}, {system};

-- The app. What a fact is cannot be changed: only columns that may move are granted.
GRANT SELECT, INSERT ON resource_projects, cards, card_boxes, box_entries, tokens, answers, audit TO {app};
GRANT SELECT, INSERT ON events TO {app};
GRANT SELECT ON event_heads TO {app};
GRANT UPDATE (title, settings, revision, deletions, updated_at, deleted_at) ON resource_projects TO {app};
GRANT UPDATE (deleted_at) ON cards TO {app};
GRANT UPDATE (generation, len, entries, depth, sealed, handover_hash) ON card_boxes TO {app};
GRANT UPDATE (revoked_at) ON tokens TO {app};
GRANT UPDATE (position, hash) ON audit TO {app};
GRANT SELECT, INSERT ON state_agent_state_head, state_snapshots, state_agent_inbox, state_execution_edges,
    state_agent_steps, state_tool_calls, resource_profiles, resource_project_agents, state_identity_edges,
    resource_documents, state_pmo_batches, state_pmo_batch_tasks, state_pmo_sweeps, state_box_grants,
    state_pmo_trees, state_sessions, resource_passages TO {app};
GRANT UPDATE (active_agent_turn_id, inbox_id, profile_box_id, context_box_id, output_box_id, last_output_box_id,
    turn_epoch, output_watermark, depth, dispatched_at, channel_id, worker_target, trace_id, parent_step_id, status,
    waiting_tool_count, resume_deadline, last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at, queued,
    busy) ON state_agent_state_head TO {app};
GRANT UPDATE (active_agent_turn_id, inbox_id, profile_box_id, context_box_id, output_box_id, last_output_box_id,
    turn_epoch, output_watermark, depth, dispatched_at, channel_id, worker_target, trace_id, parent_step_id, status,
    waiting_tool_count, resume_deadline, last_doorbell_at, deliverable_card_id, open_calls, marks, updated_at)
    ON state_snapshots TO {app};
GRANT UPDATE (status, turn_epoch, worker_id, token_hash, processed_at, retry_count, next_retry_at, reason,
    task_status, deliverable_card_id, error, error_code, output_from, output_until, ended_at)
    ON state_agent_inbox TO {app};
GRANT UPDATE (phase, status, call_id, request_box_id, output_len, metadata, updated_at) ON state_agent_steps TO {app};
GRANT UPDATE (call_card_id, waiting, answer_status, terminate, answer_card_id, answered_at)
    ON state_tool_calls TO {app};
GRANT UPDATE (worker_target, profile_box_id, card_id, tags, revision, created_at, updated_at, deleted_at)
    ON resource_profiles TO {app};
GRANT UPDATE (card_id, revision, created_at, updated_at, deleted_at) ON resource_documents TO {app};
GRANT UPDATE (profile_name, profile_box_id, worker_target, display_name, tags, owner_agent_id, metadata, revision,
    created_at, updated_at) ON resource_project_agents TO {app};
GRANT UPDATE (status, closing, result_card_id, closed_at) ON state_pmo_batches TO {app};
GRANT UPDATE (agent_id, agent_turn_id, turn_epoch, context_box_id, output_box_id, attempts, next_attempt_at, warning,
    status, deliverable_card_id, error_detail, error_code, updated_at) ON state_pmo_batch_tasks TO {app};
GRANT UPDATE (turns) ON state_pmo_trees TO {app};
GRANT UPDATE (version, checkpoint_card_id, created_at, updated_at, deleted_at) ON state_sessions TO {app};
GRANT UPDATE (card_id, content_hash, terms, embedding, created_at, lexemes) ON resource_passages TO {app};
-- Neither is a fact: a sweep is a thing to do and goes when it is done, a passage can be made again from its card.
GRANT DELETE ON state_pmo_sweeps, resource_passages TO {app};

-- The background jobs, which work across projects: numbering, sealing, forgetting, watching turns, finding the
-- projects in which there is work, batches that are running and sweeps to be done, looking a token up, and finding the
-- places of passages by their lexemes, which tell no words.
CREATE POLICY background ON resource_projects FOR SELECT TO {system} USING (true);
CREATE POLICY background ON tokens FOR SELECT TO {system} USING (true);
CREATE POLICY background ON audit FOR SELECT TO {system} USING (true);
CREATE POLICY background ON answers TO {system} USING (true);
CREATE POLICY background ON events TO {system} USING (true);
CREATE POLICY background ON event_heads TO {system} USING (true) WITH CHECK (true);
CREATE POLICY background ON state_agent_state_head FOR SELECT TO {system} USING (true);
CREATE POLICY background ON state_agent_inbox FOR SELECT TO {system} USING (true);
CREATE POLICY background ON state_pmo_batches FOR SELECT TO {system} USING (true);
CREATE POLICY background ON state_pmo_sweeps FOR SELECT TO {system} USING (true);
CREATE POLICY background ON resource_passages FOR SELECT TO {system} USING (true);
GRANT SELECT ON resource_projects, tokens, audit, schema_migrations TO {system};
GRANT SELECT ON state_agent_state_head, state_agent_inbox TO {system};
GRANT SELECT (project_id, batch_id, status) ON state_pmo_batches TO {system};
GRANT SELECT ON state_pmo_sweeps TO {system};
GRANT SELECT (project_id, kind, namespace, source, part, lexemes) ON resource_passages TO {system};
GRANT SELECT, DELETE ON answers TO {system};
GRANT SELECT, UPDATE (last_position) ON events TO {system};
GRANT SELECT, INSERT, UPDATE (last_position) ON event_heads TO {system};

-- Functions run with the caller's rights; only the app calls them.
DO $functions$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'cw\_%' ORDER BY oid
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {app}', routine);
    END LOOP;
END
$functions$;
