//! One suite for every backend: each case is a sentence of the contract, run on an empty store.
//!
//! A case takes the store and panics when the sentence does not hold. It must not know which backend it has, so it
//! only uses what `cardwire_store` promises. [`conformance_tests!`](crate::conformance_tests) makes each case a
//! test of its own.
//! Invariant: every public function below is a case and is listed in the macro; a test of this file checks it.

pub mod answers;
pub mod audit;
pub mod boxes;
pub mod cards;
mod case;
pub mod commits;
pub mod entries;
pub mod events;
pub mod lifecycle;
pub mod projects;
pub mod races;
pub mod tokens;

/// Expands to one `#[tokio::test]` per case.
///
/// The argument is an expression that is evaluated anew in every test and gives a future of
/// `(Arc<dyn Store>, guard)`: an empty store, and whatever must live as long as it does.
///
/// ```text
/// async fn fresh() -> (Arc<dyn Store>, TempDir) { … }
///
/// cardwire_testkit::conformance_tests!(fresh());
/// ```
#[macro_export]
macro_rules! conformance_tests {
    ($fresh:expr) => {
        $crate::conformance_tests! { @each $fresh;
            answers {
                an_answer_is_remembered_once_per_caller_and_key
                old_answers_are_forgotten_and_young_ones_kept
            }
            audit {
                audit_rows_come_newest_first_by_realm
                sealed_rows_form_a_chain_that_can_be_followed
                of_two_sealers_the_slower_one_conflicts
                a_row_is_sealed_once_and_a_place_taken_once
                unsealed_rows_are_given_per_realm_up_to_the_limit
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
            cards {
                a_card_comes_back_byte_equal_with_every_field
                a_taken_card_id_conflicts_and_changes_nothing
                projects_are_walls
                a_deleted_card_is_marked_and_counted_and_stays_in_its_boxes
                a_card_is_deleted_once
                cards_are_given_once_each_and_unknown_ids_left_out
                card_scans_page_completely
            }
            commits {
                a_late_conflict_leaves_nothing_behind
                an_expectation_that_fails_leaves_nothing_behind
                writes_of_one_commit_apply_in_order
                expectations_are_checked_before_any_write
                an_empty_commit_changes_nothing
                load_gives_exactly_what_the_keys_name
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
                events_come_back_with_every_field
                events_are_read_after_a_position_up_to_a_limit_and_by_agent
                a_refused_commit_leaves_no_gap
                readers_never_miss_or_reorder_under_concurrent_writers
            }
            lifecycle {
                health_names_the_backend_and_counts_the_backlog
                after_close_every_call_answers_unavailable
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
            tokens {
                a_token_is_found_by_hash_and_by_id_with_every_field
                tokens_are_listed_by_realm_and_page
                ids_and_secrets_are_unique_over_all_realms
                a_token_is_revoked_once_and_in_its_own_realm
            }
        }
    };
    (@each $fresh:expr; $($module:ident { $($case:ident)* })*) => {
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
        ("boxes", include_str!("conformance/boxes.rs")),
        ("cards", include_str!("conformance/cards.rs")),
        ("commits", include_str!("conformance/commits.rs")),
        ("entries", include_str!("conformance/entries.rs")),
        ("events", include_str!("conformance/events.rs")),
        ("lifecycle", include_str!("conformance/lifecycle.rs")),
        ("projects", include_str!("conformance/projects.rs")),
        ("races", include_str!("conformance/races.rs")),
        ("tokens", include_str!("conformance/tokens.rs")),
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
