//! The format to the byte, and who is chosen.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;

fn record(session_id: &str, outcome: Outcome) -> Record {
    Record { outcome, ..Record::new(session_id, "g") }
}

fn ids(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.session_id.as_str()).collect()
}

/// EX-02
#[test]
fn an_experience_says_everything_it_knows() {
    let full = Record::new("s1", "sum\nup")
        .merge(&json!({
            "outcome": "success", "summary": "done", "tools": ["sql", "chart"], "agents": ["ann", "bob"],
            "duration_ms": 5, "feedback": { "stars": 5, "comment": "very\ngood" },
            "knowledge_refs": [{ "chunk_id": "c1", "source_id": "d" }, { "chunk_id": "c2", "source_id": "d" }],
        }))
        .unwrap();
    let text = Record { feedback: Some(json!("meh")), ..record("s2", Outcome::Partial) };
    assert_eq!(
        render(&[full, text]),
        "# Experience Context\n\n## Similar Experiences\n\n### Experience 1\n- Goal: sum up\n- Outcome: success\n\
         - Summary: done\n- Tools: sql, chart\n- Agents: ann, bob\n- Feedback: comment=very good, stars=5\n\
         - Knowledge References: 2\n\n### Experience 2\n- Goal: g\n- Outcome: partial\n- Feedback: meh"
    );
}

/// EX-02
#[test]
fn what_there_is_nothing_to_say_about_has_no_line() {
    assert_eq!(
        render(&[record("s1", Outcome::Pending)]),
        "# Experience Context\n\n## Similar Experiences\n\n### Experience 1\n- Goal: g\n- Outcome: pending"
    );
    assert_eq!(render(&[]), "");
}

/// EX-02
#[test]
fn a_summary_is_cut_after_100_characters() {
    for (characters, shown) in [(99, 99), (100, 100), (101, 100), (500, 100)] {
        let record = Record { summary: "总".repeat(characters), ..record("s", Outcome::Success) };
        let line = format!("\n- Summary: {}", "总".repeat(shown));
        assert!(render(&[record]).ends_with(&line), "{characters}");
    }
}

/// EX-02
#[test]
fn successes_come_first_and_others_fill_the_rest() {
    use Outcome::{Failure, Partial, Success};
    let successes = || vec![record("a", Success), record("b", Success)];
    // Upstream asked for one more and was given `a` again.
    let any = || vec![record("f", Failure), record("a", Success), record("p", Partial), record("b", Success)];
    let both = || [successes(), any()].concat();
    assert_eq!(ids(&choose(both(), SHOWN, true)), ["a", "b", "f"]);
    assert_eq!(ids(&choose(both(), 9, true)), ["a", "b", "f", "p"]);
    assert_eq!(ids(&choose(both(), 1, true)), ["a"]);
    assert_eq!(ids(&choose(both(), 0, true)), [""; 0]);
    assert_eq!(ids(&choose(any(), 3, true)), ["a", "b", "f"]);
}

/// EX-02
#[test]
fn without_preference_the_best_come_first() {
    use Outcome::{Failure, Success};
    let any = vec![record("f", Failure), record("a", Success), record("f", Failure), record("b", Success)];
    assert_eq!(ids(&choose(any, 3, false)), ["f", "a", "b"]);
}

/// EX-02
#[test]
fn choosing_ends_when_successes_have_every_place() {
    use Outcome::{Failure, Success};
    let settled = |outcomes: &[Outcome], k: usize, prefer_success: bool| {
        let chosen: Vec<_> = outcomes.iter().map(|outcome| record("s", *outcome)).collect();
        is_settled(&chosen, k, prefer_success)
    };
    assert!(settled(&[Success, Success], 2, true));
    assert!(!settled(&[Success, Failure], 2, true), "a success would take a place");
    assert!(settled(&[Success, Failure], 2, false));
    for prefer_success in [true, false] {
        assert!(!settled(&[Success], 2, prefer_success), "anything would");
        assert!(settled(&[], 0, prefer_success));
    }
}

proptest! {
    /// EX-02
    #[test]
    fn choosing_page_by_page_chooses_of_all(
        found in prop::collection::vec((0_u8..20, 0_usize..3), 0..40), page in 1_usize..9, k in 0_usize..6,
        prefer_success: bool,
    ) {
        use Outcome::{Failure, Partial, Success};
        // A session has one outcome.
        let outcomes: HashMap<u8, usize> = found.iter().copied().collect();
        let outcome = |session: u8| [Success, Failure, Partial][outcomes[&session]];
        let all: Vec<_> = found.iter().map(|(n, _)| record(&n.to_string(), outcome(*n))).collect();
        let mut chosen = vec![];
        for some in all.chunks(page) {
            chosen = choose([chosen, some.to_vec()].concat(), k, prefer_success);
            if is_settled(&chosen, k, prefer_success) {
                break;
            }
        }
        prop_assert_eq!(chosen, choose(all, k, prefer_success));
    }
}

/// EX-01
#[test]
fn an_experience_is_found_by_its_goal_result_tools_and_agents() {
    let mut one = record("s", Outcome::Pending);
    assert_eq!(search_text(&one), "g");
    one.outcome = Outcome::Failure;
    one.summary = "no data".to_owned();
    one.add_tools(["sql".to_owned(), "chart".to_owned()]);
    one.add_agents(["ann".to_owned()]);
    assert_eq!(search_text(&one), "g\nfailure\nno data\nsql, chart\nann");
}
