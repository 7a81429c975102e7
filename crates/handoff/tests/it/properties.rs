//! What holds for every conversation, every text and every budget (LD-02, LD-05, NF-11).

use crate::fixtures::{World, case_files, execution_of, package, parse};
use cardwire_handoff::{LoadRequest, Mode, Part, SafePath, load, truncate_part, truncate_text};
use proptest::prelude::*;
use serde_json::{Value, json};

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z 汉字é🦀]{0,20}",
        1 => (prop::sample::select(vec!["x", "汉", "🦀", "e\u{301}"]), 4_990..5_010_usize)
            .prop_map(|(character, count)| character.repeat(count)),
    ]
}

fn turns() -> impl Strategy<Value = Value> {
    let turn = (texts(), prop::option::of(0..20_u64), any::<bool>(), any::<bool>()).prop_map(
        |(content, turn_index, calls, fails)| {
            let mut turn = json!({ "content": content });
            if let Some(turn_index) = turn_index.filter(|index| index % 4 == 0) {
                turn["turn_index"] = json!(turn_index);
            }
            if calls && fails {
                turn["tool_calls"] = json!([{ "name": "f" }]);
            }
            turn
        },
    );
    let marker = (1..5_u64).prop_map(|omitted| json!({ "omitted_turns": omitted }));
    prop_oneof![8 => turn, 1 => marker, 1 => Just(json!("plain"))]
}

fn traces() -> impl Strategy<Value = Value> {
    let conversation = prop::collection::vec(turns(), 0..25);
    (
        conversation,
        prop::sample::select(vec!["conversation_history", "turns", "messages", "other", ""]),
        texts(),
    )
        .prop_map(|(turns, key, text)| match key {
            "" => json!(turns),
            key => json!({ key: turns, "states": [{ "note": text }] }),
        })
}

/// The turns that are left, without markers, and how many the markers stand for.
fn count(turns: &[Value]) -> (Vec<&Value>, u64) {
    let omitted = turns.iter().filter_map(|turn| turn.get("omitted_turns")?.as_u64()).sum();
    (turns.iter().filter(|turn| turn.get("omitted_turns").is_none()).collect(), omitted)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    /// LD-05
    #[test]
    fn shortening_is_idempotent_and_keeps_the_order(
        trace in traces(),
        keys in prop::collection::vec(0..30_u64, 0..3),
    ) {
        let once = truncate_part(Part::Trace, &trace, &keys);
        prop_assert_eq!(&truncate_part(Part::Trace, &once, &keys), &once);
        if let (Some(before), Some(after)) = (trace.as_array(), once.as_array()) {
            let (kept, omitted) = count(after);
            let (had, had_omitted) = count(before);
            prop_assert_eq!(kept.len() as u64 + omitted, had.len() as u64 + had_omitted);
            // What is kept are turns of before, in their order, with long texts shortened.
            let mut rest = had.into_iter();
            for turn in kept {
                prop_assert!(rest.any(|before| truncate_part(Part::Sample, before, &keys) == *turn));
            }
            let adjacent = after.windows(2).any(|pair| pair.iter().all(|turn| turn.get("omitted_turns").is_some()));
            prop_assert!(!adjacent, "markers are merged");
        }
    }

    /// LD-05
    #[test]
    fn a_text_is_cut_between_characters_and_only_once(text in texts(), more in texts()) {
        let text = format!("{text}{more}");
        let short = truncate_text(&text);
        prop_assert_eq!(&truncate_text(&short), &short);
        prop_assert!(short.chars().count() <= 5_000);
        if short != text {
            let head: String = text.chars().take(1_000).collect();
            let tail: String = text.chars().skip(text.chars().count() - 1_000).collect();
            prop_assert!(short.starts_with(&head) && short.ends_with(&tail));
        }
    }

    /// HO-10
    #[test]
    fn a_safe_path_never_leaves_where_it_is_joined(text in "[a./\\\\\u{0}汉-]{0,12}") {
        if let Ok(path) = SafePath::parse(&text) {
            prop_assert!(path.names().all(|name| !name.is_empty() && name != "." && name != ".."));
            prop_assert!(std::path::Path::new(path.as_str()).is_relative());
        }
    }

    /// SEC-08
    #[test]
    fn whatever_is_sent_is_taken_or_refused_with_an_error(
        key in prop::sample::select(vec!["version", "handoff_type", "timestamp", "metadata", "execution_output_dir",
            "trigger_reason", "iteration_summary", "failure_samples_index", "layer1_problems_report_path"]),
        value in prop_oneof![
            Just(json!(null)), Just(json!(true)), Just(json!(-1.5)), Just(json!([])), Just(json!({})),
            Just(json!([[], {}, 1])), any::<String>().prop_map(|text| json!(text)),
        ],
    ) {
        let mut sent = crate::fixtures::execution();
        sent[key] = value;
        if let Err(refusal) = parse(sent) {
            prop_assert!(refusal.kind.status() == 400 && !refusal.problems.is_empty());
            prop_assert!(refusal.problems.is_sorted());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]

    /// LD-02, NF-11
    #[test]
    fn a_load_stays_within_its_budget_and_accounts_for_everything(
        traces in prop::collection::vec(traces(), 1..4),
        text in texts(),
        budget in 1..12_000_u32,
        hard in any::<bool>(),
    ) {
        let world = World::seed();
        let ids: Vec<String> = (0..traces.len()).map(|n| format!("s{n}")).collect();
        for (id, trace) in ids.iter().zip(&traces) {
            let [sample, trace_file, evaluation, attribution] = case_files(id);
            world.put(&sample, &json!({ "text": text }).to_string());
            world.put(&trace_file, &trace.to_string());
            world.put(&evaluation, &json!({ "turn_index": 3 }).to_string());
            world.put(&attribution, "[]");
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let package = package(execution_of(&ids));
        let request = LoadRequest { mode: Mode::Full, budget, hard, ..LoadRequest::default() };
        let answer = load(&package, &world.files, &request).unwrap();
        prop_assert_eq!(&load(&package, &world.files, &request).unwrap(), &answer);
        prop_assert_eq!(answer.used, answer.loaded.iter().map(|part| part.tokens).sum::<u32>());
        prop_assert!(answer.used <= budget || (answer.over_budget && !hard && answer.loaded.len() == 1));
        prop_assert_eq!(answer.loaded.len() + answer.omitted.len(), 1 + 4 * ids.len());
        let marked = answer.loaded.iter().filter(|part| part.truncated).count();
        prop_assert_eq!(marked, answer.truncated.len());
    }
}
