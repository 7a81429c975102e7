//! One suite for every backend: each case is a sentence of the contract, run on an empty store.
//!
//! A case takes the store and panics when the sentence does not hold. It must not know which backend it has, so it
//! only uses what `cardwire_store` promises. [`conformance_tests!`](crate::conformance_tests) makes each case a
//! test of its own.
//! Invariant: every public function below is a case and is listed in the macro; a test of this file checks it.

pub mod answers;
pub mod audit;
pub mod batch_races;
pub mod batch_walls;
pub mod batches;
pub mod boxes;
pub mod branches;
pub mod calls;
pub mod cards;
mod case;
pub mod claims;
pub mod commits;
pub mod edges;
pub mod entries;
pub mod events;
pub mod heads;
pub mod inbox;
pub mod lifecycle;
pub mod outputs;
pub mod passages;
pub mod projects;
pub mod races;
pub mod roster;
pub mod search;
pub mod sessions;
pub mod standings;
pub mod steps;
pub mod surveys;
pub mod tokens;
pub mod trees;
pub mod turn_loads;
pub mod turn_races;
pub mod turn_walls;
pub mod watchdog;

/// Expands to one `#[tokio::test]` per case, or per file of cases where a store is dear to make.
///
/// The argument is an expression that is evaluated anew in every test and gives a future of
/// `(Arc<dyn Store>, guard)`: an empty store, and whatever must live as long as it does.
///
/// ```text
/// async fn fresh() -> (Arc<dyn Store>, TempDir) { … }
///
/// cardwire_testkit::conformance_tests!(fresh());
/// ```
///
/// The optional second expression is an async function of the guard that empties the store. With it, the cases of a file
/// share one store, which is emptied after each case.
#[macro_export]
macro_rules! conformance_tests {
    ($fresh:expr $(, $empty:expr)?) => {
        $crate::conformance_tests! { @each [$fresh $(, $empty)?];
            answers {
                an_answer_is_remembered_once_per_caller_and_key
                old_answers_are_forgotten_and_young_ones_kept
            }
            audit {
                audit_rows_come_newest_first_by_realm
                audit_rows_are_listed_by_every_filter
                sealed_rows_form_a_chain_that_can_be_followed
                of_two_sealers_the_slower_one_conflicts
                a_row_is_sealed_once_and_a_place_taken_once
                unsealed_rows_are_given_per_realm_up_to_the_limit
            }
            batch_races {
                of_closers_of_one_batch_one_wins
                of_movers_of_one_branch_one_wins
                of_ends_of_one_branch_one_counts
                ends_of_the_same_branches_go_together_in_any_order
                an_end_is_not_overwritten_by_a_mover
                once_a_close_has_begun_no_branch_changes
                no_more_turns_are_spent_than_the_limit
                no_more_turns_are_open_than_is_expected
            }
            batch_walls {
                the_same_batch_in_two_projects_is_unrelated_rows
                batches_of_another_project_cannot_be_changed
            }
            batches {
                a_batch_comes_back_with_every_field
                a_taken_batch_id_conflicts_and_changes_nothing
                a_batch_begins_to_close_once
                a_batch_closes_from_the_closing_it_was_seen_in
                batches_are_listed_newest_first_by_every_filter
                running_batches_are_listed_over_all_projects
            }
            boxes {
                a_box_comes_back_with_every_field
                a_taken_box_id_conflicts_and_changes_nothing
                a_rewrite_keeps_the_old_generation_readable
                a_rewrite_keeps_seal_handover_hash_and_birth
                a_sealed_box_takes_no_more_cards
                an_absent_box_can_be_neither_rewritten_nor_sealed
                an_open_box_is_expected_at_a_generation_and_length
                box_scans_page_completely
            }
            branches {
                a_branch_comes_back_with_every_field
                a_taken_branch_key_conflicts_and_changes_nothing
                a_branch_moves_only_from_the_expected_state
                branches_of_a_closing_batch_are_moved
                the_first_end_of_a_branch_counts
                an_end_does_nothing_when_its_batch_is_closing_or_closed
                an_end_of_an_unknown_branch_does_nothing
                many_branches_end_in_one_commit
                branches_page_by_index
                a_thousand_branches_are_written_at_once
                branches_with_open_turns_are_listed_by_index
            }
            calls {
                tool_calls_come_back_by_id_with_every_field
                a_tool_call_is_opened_once_per_turn
                a_tool_call_is_answered_once
            }
            cards {
                a_card_comes_back_byte_equal_with_every_field
                a_taken_card_id_conflicts_and_changes_nothing
                projects_are_walls
                a_deleted_card_is_marked_and_counted_and_stays_in_its_boxes
                a_card_is_deleted_once
                cards_are_given_once_each_and_unknown_ids_left_out
                card_scans_page_completely
            }
            claims {
                the_oldest_rows_are_claimed_first_over_all_projects
                only_claimable_rows_of_the_target_are_claimed
                a_claim_serves_the_projects_it_names
                a_claim_of_all_projects_passes_over_deleted_ones
                what_a_worker_has_in_its_hands_is_found_over_all_projects
                deferred_rows_are_claimed_when_their_time_has_come
                claimable_rows_come_with_their_turn_and_head
                a_claim_applies_the_whole_commit
                an_empty_commit_claims_nothing
                a_conflict_leaves_its_project_out
                concurrent_claims_are_disjoint
            }
            commits {
                a_late_conflict_leaves_nothing_behind
                an_expectation_that_fails_leaves_nothing_behind
                writes_of_one_commit_apply_in_order
                expectations_are_checked_before_any_write
                an_empty_commit_changes_nothing
                load_gives_exactly_what_the_keys_name
            }
            edges {
                an_edge_comes_back_with_every_field
                a_correlation_of_turns_is_unique_in_its_project
                a_correlation_of_tools_is_unique_in_its_turn
                edges_are_listed_newest_first_by_every_filter
            }
            entries {
                appends_keep_order_and_number_entries
                an_entry_that_is_there_conflicts
                appends_to_another_generation_conflict
                segments_are_stored_and_read
                box_cards_hydrates_cards_and_leaves_segments
                every_source_of_an_entry_is_kept
            }
            events {
                positions_are_contiguous_from_one_per_project
                the_ends_of_many_logs_are_told_at_once
                events_come_back_with_every_field
                events_are_read_after_a_position_up_to_a_limit_and_by_agent
                many_events_of_one_commit_are_read_in_pages
                events_are_filtered_by_turn_batch_and_trace
                a_refused_commit_leaves_no_gap
                readers_never_miss_or_reorder_under_concurrent_writers
            }
            heads {
                a_head_comes_back_with_every_field
                a_head_is_created_once
                a_move_writes_the_new_state_and_counts_who_waits
                each_part_of_a_guard_is_needed
                a_nudge_changes_only_what_it_names
                a_move_with_stale_marks_conflicts
                an_idle_head_has_no_marks
                writes_to_one_head_apply_in_order
                heads_are_listed_by_agent
                the_roster_is_listed_newest_first_by_every_filter
            }
            inbox {
                an_inbox_row_comes_back_with_every_field
                a_damaged_row_is_read_as_it_is
                places_in_the_queue_rise_with_time
                a_taken_inbox_id_or_turn_id_conflicts
                a_row_changes_only_from_the_expected_status
                inbox_rows_are_listed_newest_first_by_every_filter
            }
            lifecycle {
                health_names_the_backend_and_counts_the_backlog
                after_close_every_call_answers_unavailable
            }
            outputs {
                an_output_box_is_taken_by_open_turns_of_others
                a_sealed_box_is_no_output_box
                only_turns_take_their_own_output_box
                an_output_box_is_expected_free_before_any_write
                cards_for_a_box_that_a_turn_writes_are_refused
                writers_are_loaded_by_box
            }
            passages {
                a_passage_comes_back_with_every_field
                passages_page_by_source_and_part
                a_replaced_passage_is_found_by_its_new_terms_only
                a_dropped_source_is_gone
                writes_to_one_source_apply_in_order
                a_refused_commit_leaves_the_index_as_it_was
                passages_of_another_project_cannot_be_changed
                of_replacements_of_one_source_one_stays_whole
            }
            projects {
                a_project_comes_back_with_every_field
                a_taken_name_conflicts_and_an_absent_project_cannot_be_updated
                an_update_leaves_deletions_and_birth_alone
                an_update_relies_on_the_revision
                projects_page_by_name
            }
            races {
                concurrent_appends_lose_nothing_and_stay_contiguous
                of_appends_that_rely_on_a_length_one_wins
                of_writers_of_one_card_id_one_wins
                of_appenders_of_one_card_one_wins
                of_deleters_of_one_card_one_wins
                of_updates_of_one_revision_one_wins
                of_repeated_requests_one_is_answered
                concurrent_commits_each_get_their_own_outcome
                concurrent_audit_rows_are_sealed_into_one_chain
            }
            roster {
                profiles_and_agents_come_back_with_every_field
                the_roster_changes_at_the_expected_revision_only
                the_roster_pages_by_name
                an_identity_edge_is_written_once
                identity_edges_are_listed_newest_first_by_every_filter
                documents_are_kept_by_kind_and_name
            }
            search {
                passages_are_found_by_any_term
                a_search_for_nothing_finds_nothing
                terms_of_every_script_are_found_exactly
                the_best_comes_first
                equal_hits_are_by_source_and_part
                shelves_never_meet
                a_rare_term_finds_exactly_its_own_among_thousands
                a_long_passage_is_found_by_each_of_its_terms
            }
            sessions {
                a_session_comes_back_with_every_field
                a_session_changes_at_the_expected_version_only
                a_deleted_session_goes_on_at_its_version
                writes_to_one_session_apply_in_order
                a_refused_patch_leaves_nothing_behind
                sessions_page_by_name
                sessions_of_other_namespaces_and_projects_are_unrelated
                of_patches_of_one_version_one_wins
                patches_of_different_sessions_go_together
            }
            standings {
                a_standing_tells_of_open_and_failed_branches
                a_standing_counts_successes_up_to_enough
                a_standing_counts_dispatched_up_to_parallel
                a_standing_names_the_first_branches_to_dispatch
                a_standing_names_the_first_branches_nobody_took
            }
            steps {
                a_step_comes_back_with_every_field
                a_step_is_created_once_and_changed_by_its_own_turn
                steps_are_listed_newest_first_by_every_filter
            }
            surveys {
                runs_are_turns_that_nobody_sent_newest_first
                turns_are_found_by_those_that_sent_them
                steps_of_many_turns_come_oldest_first
                cards_and_boxes_page_from_the_greatest_id
                entries_that_may_hold_a_card_are_found_page_by_page
            }
            tokens {
                a_token_is_found_by_hash_and_by_id_with_every_field
                many_tokens_are_found_at_once
                tokens_are_listed_by_realm_and_page
                ids_and_secrets_are_unique_over_all_realms
                a_token_is_revoked_once_and_in_its_own_realm
            }
            trees {
                a_sweep_is_added_and_ended_any_number_of_times
                sweeps_page_by_project_scope_and_id
                open_children_are_open_turns_that_are_no_branches
                a_grant_is_of_one_agent_and_may_be_given_again
                a_tree_is_spent_up_to_its_limit
                open_turns_of_a_trace_are_found
                open_turns_are_counted_up_to_a_limit
                open_turns_are_counted_up_to_what_is_expected
            }
            turn_loads {
                a_turn_is_loaded_with_its_head_and_output_box
                a_turn_is_loaded_with_the_calls_that_matter
                a_turn_is_loaded_with_its_open_reports
                a_turn_is_loaded_with_the_first_turns_that_wait
                an_agent_is_loaded_with_its_row_and_its_head
                what_is_left_of_a_head_is_loaded
                of_a_turn_and_an_agent_the_turn_names_the_head
                rows_around_a_turn_are_loaded_by_their_keys
            }
            turn_races {
                of_leases_of_one_agent_one_wins
                nudges_to_one_head_go_together_in_any_order
                no_more_turns_wait_than_the_guard_allows
                of_enqueues_of_one_turn_one_wins
                of_answers_to_one_call_one_wins
                of_agents_that_want_one_output_box_one_wins
                of_those_that_write_a_box_and_those_that_seal_it_one_wins
                of_changes_of_one_profile_one_wins
                a_reaped_turn_writes_nothing_afterwards
            }
            turn_walls {
                the_same_keys_in_two_projects_are_unrelated_rows
                rows_of_another_project_cannot_be_changed
            }
            watchdog {
                live_heads_are_due_at_the_horizon_of_their_state
                idle_heads_with_turns_waiting_are_due
                rows_are_due_at_the_horizon_of_their_state
                due_rows_come_with_their_other_half
                due_rows_page_over_all_projects
            }
        }
    };
    (@each [$fresh:expr, $empty:expr]; $($module:ident { $($case:ident)* })*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $module() {
                let (store, guard) = $fresh.await;
                $(
                    $crate::conformance::$module::$case(::std::sync::Arc::clone(&store)).await;
                    $empty(&guard).await;
                )*
                store.close().await;
            }
        )*
    };
    (@each [$fresh:expr]; $($module:ident { $($case:ident)* })*) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let (store, _guard) = $fresh.await;
                $crate::conformance::$module::$case(::std::sync::Arc::clone(&store)).await;
                // Files are released before the guard removes them.
                store.close().await;
            }
        )*)*
    };
}

#[cfg(test)]
mod tests {
    /// Each file with its cases.
    const FILES: &[(&str, &str)] = &[
        ("answers", include_str!("conformance/answers.rs")),
        ("audit", include_str!("conformance/audit.rs")),
        ("batch_races", include_str!("conformance/batch_races.rs")),
        ("batch_walls", include_str!("conformance/batch_walls.rs")),
        ("batches", include_str!("conformance/batches.rs")),
        ("boxes", include_str!("conformance/boxes.rs")),
        ("branches", include_str!("conformance/branches.rs")),
        ("calls", include_str!("conformance/calls.rs")),
        ("cards", include_str!("conformance/cards.rs")),
        ("claims", include_str!("conformance/claims.rs")),
        ("commits", include_str!("conformance/commits.rs")),
        ("edges", include_str!("conformance/edges.rs")),
        ("entries", include_str!("conformance/entries.rs")),
        ("events", include_str!("conformance/events.rs")),
        ("heads", include_str!("conformance/heads.rs")),
        ("inbox", include_str!("conformance/inbox.rs")),
        ("lifecycle", include_str!("conformance/lifecycle.rs")),
        ("outputs", include_str!("conformance/outputs.rs")),
        ("passages", include_str!("conformance/passages.rs")),
        ("projects", include_str!("conformance/projects.rs")),
        ("races", include_str!("conformance/races.rs")),
        ("roster", include_str!("conformance/roster.rs")),
        ("search", include_str!("conformance/search.rs")),
        ("sessions", include_str!("conformance/sessions.rs")),
        ("standings", include_str!("conformance/standings.rs")),
        ("steps", include_str!("conformance/steps.rs")),
        ("surveys", include_str!("conformance/surveys.rs")),
        ("tokens", include_str!("conformance/tokens.rs")),
        ("trees", include_str!("conformance/trees.rs")),
        ("turn_loads", include_str!("conformance/turn_loads.rs")),
        ("turn_races", include_str!("conformance/turn_races.rs")),
        ("turn_walls", include_str!("conformance/turn_walls.rs")),
        ("watchdog", include_str!("conformance/watchdog.rs")),
    ];

    #[test]
    fn every_case_is_in_the_macro() {
        let this = include_str!("conformance.rs");
        let listed = |module: &str| -> Vec<&str> {
            let from = this.split(&format!("            {module} {{\n")).nth(1).unwrap_or_default();
            from.split('}').next().unwrap_or_default().split_whitespace().collect()
        };
        for (module, text) in FILES {
            assert!(this.contains(&format!("pub mod {module};")));
            let written: Vec<_> =
                text.split("\npub async fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
            assert_eq!(listed(module), written, "cases of {module}.rs, in order");
        }
        assert_eq!(this.matches("\npub mod ").count(), FILES.len());
    }
}
