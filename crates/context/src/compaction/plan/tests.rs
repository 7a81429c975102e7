//! Examples, and what holds for every list of messages.

use super::*;
use proptest::prelude::*;

fn ai() -> Entry {
    Entry::said(Speaker::Ai)
}

fn human() -> Entry {
    Entry::said(Speaker::Human)
}

fn call(ids: &[&str]) -> Entry {
    Entry { calls: ids.iter().map(|id| (*id).to_owned()).collect(), ..ai() }
}

fn result(id: &str) -> Entry {
    Entry { answers: Some(id.to_owned()), ..Entry::said(Speaker::Tool) }
}

fn covered(entries: &[Entry], min_keep: usize) -> Vec<usize> {
    plan(entries, min_keep).map(|plan| plan.cover).unwrap_or_default()
}

/// CP-02
#[test]
fn the_last_five_and_every_human_stay() {
    assert_eq!(MIN_KEEP_ENTRIES, 5);
    let entries = [human(), ai(), ai(), human(), ai(), ai(), ai(), human(), ai(), ai()];
    let expected = Plan { keep: vec![0, 3, 5, 6, 7, 8, 9], cover: vec![1, 2, 4] };
    assert_eq!(plan(&entries, MIN_KEEP_ENTRIES), Some(expected));
}

/// CP-02
#[test]
fn nothing_to_summarise_is_no_plan() {
    assert_eq!(plan(&[], 5), None);
    assert_eq!(plan(&vec![ai(); 5], 5), None);
    assert_eq!(plan(&vec![human(); 50], 5), None);
    assert_eq!(covered(&vec![ai(); 6], 5), [0]);
    assert_eq!(covered(&vec![ai(); 3], 0), [0, 1, 2]);
}

/// CP-02
#[test]
fn what_is_pinned_stays() {
    let pinned = Entry { pinned: true, ..ai() };
    assert_eq!(covered(&[ai(), pinned, ai(), ai()], 1), [0, 2]);
}

/// CP-02, NF-05
#[test]
fn a_tool_call_stays_with_its_answers_or_goes_with_them() {
    let entries = [call(&["a"]), result("a"), ai(), call(&["b", "c"]), result("b"), result("c"), ai()];
    assert_eq!(covered(&entries, 1), [0, 1, 2, 3, 4, 5]);
    // One answer among the last brings its call and the other answer.
    assert_eq!(covered(&entries, 2), [0, 1, 2]);
    // A pinned answer brings its call.
    let mut pinned = entries.clone();
    pinned[1].pinned = true;
    assert_eq!(covered(&pinned, 1), [2, 3, 4, 5]);
    // A call among the last whose answer is among the last, and one still open.
    assert_eq!(covered(&[ai(), call(&["d"])], 1), [0]);
}

/// CP-02: a delegated call may be answered a thousand messages later; that is no reason to keep the thousand.
#[test]
fn what_stands_between_a_call_and_its_late_answer_is_still_summarised() {
    let entries = [call(&["a"]), ai(), ai(), ai(), result("a")];
    assert_eq!(covered(&entries, 1), [1, 2, 3]);
}

#[test]
fn a_call_id_that_is_used_again_belongs_to_the_last_call() {
    let entries = [call(&["call_0"]), result("call_0"), ai(), call(&["call_0"]), result("call_0")];
    assert_eq!(covered(&entries, 1), [0, 1, 2]);
}

/// An independent account of which answer belongs to which call.
fn pairs(entries: &[Entry]) -> Vec<(usize, usize)> {
    let call_before = |place: usize, id: &String| (0..place).rev().find(|at| entries[*at].calls.contains(id));
    let answers = (0..entries.len()).filter_map(|place| Some((place, entries[place].answers.as_ref()?)));
    answers.filter_map(|(place, id)| Some((call_before(place, id)?, place))).collect()
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let id = || (0..4_u8).prop_map(|id| id.to_string());
    let speaker = prop::sample::select(Speaker::ALL.to_vec());
    let parts =
        (speaker, prop::bool::weighted(0.1), prop::collection::vec(id(), 0..3), prop::option::of(id()));
    parts.prop_map(|(speaker, pinned, calls, answers)| match speaker {
        Speaker::Ai => Entry { speaker, pinned, calls, answers: None },
        Speaker::Tool => Entry { speaker, pinned, calls: vec![], answers },
        Speaker::Human | Speaker::System => Entry { speaker, pinned, calls: vec![], answers: None },
    })
}

proptest! {
    /// CP-02, CP-07
    #[test]
    fn a_plan_splits_the_messages_and_loses_no_human(
        entries in prop::collection::vec(any_entry(), 0..40), min_keep in 0_usize..10,
    ) {
        let Some(plan) = plan(&entries, min_keep) else {
            return Ok(());
        };
        let mut all = [plan.keep.clone(), plan.cover.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..entries.len()).collect::<Vec<_>>(), "each place once");
        prop_assert!(plan.keep.is_sorted() && plan.cover.is_sorted());
        prop_assert!(!plan.cover.is_empty());
        for place in &plan.cover {
            let entry = &entries[*place];
            prop_assert!(matches!(entry.speaker, Speaker::Ai | Speaker::Tool), "{place} {:?}", entry);
            prop_assert!(!entry.pinned && *place + min_keep < entries.len());
        }
        for (call, answer) in pairs(&entries) {
            prop_assert_eq!(plan.keep.contains(&call), plan.keep.contains(&answer), "{} and {}", call, answer);
        }
    }

    /// CP-02: no more is kept than the rules ask for.
    #[test]
    fn what_is_kept_has_a_reason(
        entries in prop::collection::vec(any_entry(), 0..40), min_keep in 0_usize..10,
    ) {
        let Some(plan) = plan(&entries, min_keep) else {
            return Ok(());
        };
        let by_itself = |place: usize| {
            place + min_keep >= entries.len()
                || entries[place].pinned
                || matches!(entries[place].speaker, Speaker::Human | Speaker::System)
        };
        let pairs = pairs(&entries);
        for place in plan.keep {
            let call = pairs.iter().find(|(_, answer)| *answer == place).map_or(place, |(call, _)| *call);
            let group = pairs.iter().filter(|(of, _)| *of == call).map(|(_, answer)| *answer).chain([call]);
            prop_assert!(by_itself(place) || group.into_iter().any(by_itself), "{place} of {:?}", entries);
        }
    }
}
