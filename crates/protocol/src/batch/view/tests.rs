//! What a branch brings into the result (BM-12, BM-17, OB-03).

use super::*;
use crate::{
    batch::rules::branch,
    fixtures::{box_id, card, card_id},
};
use cardwire_model::{CanonicalJson, token_count};

const ROOM: u32 = 1_000;

fn deliverable(content: &Value) -> Card {
    Card { content: CanonicalJson::from_value(content).unwrap(), ..card(1, "") }
}

fn summary(content: &Value, tokens: u32) -> Option<String> {
    let ended = Branch { deliverable: Some(card_id(1)), ..branch(0, BranchStatus::Success) };
    of(&ended, Some(&deliverable(content)), tokens).summary
}

#[test]
fn bm_12_the_digest_is_made_of_the_first_five_fields_that_are_not_empty() {
    let field = |name: &str, value: Value| json!({ "name": name, "value": value });
    let fields = json!({ "fields": [
        field("a", json!("x")), field("b", json!("")), field("c", json!(3)), field("d", json!(null)),
        field("e", json!(["y"])), field("f", json!("too late")),
    ]});
    assert_eq!(summary(&fields, ROOM).unwrap(), r#"a: x | c: 3 | e: ["y"]"#);
    // Nothing among the first five: the field that is called a summary.
    let mut late = vec![field("a", json!("")); 5];
    late.push(field("Summary", json!("in short")));
    assert_eq!(summary(&json!({ "fields": late }), ROOM).unwrap(), "in short");
    assert_eq!(summary(&json!("plain text"), ROOM).unwrap(), "plain text");
    assert_eq!(summary(&json!({ "answer": 42 }), ROOM).unwrap(), r#"{"answer":42}"#);
}

#[test]
fn bm_12_what_cannot_be_read_is_said_by_a_code() {
    let without = branch(0, BranchStatus::Failed);
    assert_eq!(of(&without, None, ROOM).error_code, Some("missing_deliverable_card_id"));
    let gone = Branch { deliverable: Some(card_id(1)), ..branch(0, BranchStatus::Failed) };
    assert_eq!(of(&gone, None, ROOM).error_code, Some("deliverable_read_failed"));
    assert_eq!(entry(&gone, &of(&gone, None, ROOM), ROOM)["error"], "deliverable_read_failed");
    let silent =
        Branch { error_detail: Some(" ".to_owned()), error_code: Some("broken".to_owned()), ..gone.clone() };
    assert_eq!(entry(&silent, &of(&silent, None, ROOM), ROOM)["error"], "broken", "blanks say nothing");
}

#[test]
fn ob_03_two_hundred_children_of_forty_thousand_tokens_fit_into_half_a_window_of_eight_thousand() {
    let (children, window) = (200, 8_192);
    let tokens = share(Some(window), children);
    let long = json!("word ".repeat(32_000));
    let entries: Vec<Value> = (0..children)
        .map(|index| {
            let ended = Branch {
                deliverable: Some(card_id(1)),
                output_box: Some(box_id(7)),
                ..branch(index, BranchStatus::Success)
            };
            entry(&ended, &of(&ended, Some(&deliverable(&long)), tokens), tokens)
        })
        .collect();
    let result = json!({ "status": "success", "results": entries }).to_string();
    assert!(u64::from(token_count::estimate(&result)) <= window / 2, "{}", token_count::estimate(&result));
}

#[test]
fn ob_03_children_that_fail_take_no_more_than_those_that_succeed() {
    for (children, window) in [(2, 8_192), (40, 8_192), (200, 8_192), (200, 65_536)] {
        let tokens = share(Some(window), children);
        let long = json!("word ".repeat(32_000));
        let entries: Vec<Value> = (0..children)
            .map(|index| {
                let ended = Branch {
                    deliverable: Some(card_id(1)),
                    output_box: Some(box_id(7)),
                    error_detail: Some("broken ".repeat(1_000)),
                    ..branch(index, BranchStatus::Failed)
                };
                entry(&ended, &of(&ended, Some(&deliverable(&long)), tokens), tokens)
            })
            .collect();
        let result = json!({ "status": "failed", "results": entries }).to_string();
        let taken = u64::from(token_count::estimate(&result));
        assert!(taken <= window / 2, "{children} in {window}: {taken}");
    }
}

#[test]
fn ob_03_a_share_holds_the_digest_first_then_the_reference_then_only_the_state() {
    let ended = Branch {
        deliverable: Some(card_id(1)),
        output_box: Some(box_id(7)),
        ..branch(3, BranchStatus::Success)
    };
    let at = |tokens| entry(&ended, &of(&ended, Some(&deliverable(&json!("x".repeat(400)))), tokens), tokens);
    assert_eq!(at(1_000)["summary"].as_str().unwrap().len(), 400);
    let cut = at(ENTRY + 10);
    assert_eq!(cut["summary"].as_str().unwrap(), format!("{}…", "x".repeat(36)));
    let reference = at(BARE_ENTRY);
    assert!(reference.get("summary").is_none() && reference.get("output_box_id").is_some());
    assert_eq!(at(BARE_ENTRY - 1), json!({ "task_index": 3, "status": "success" }));
}

#[test]
fn ob_03_no_share_makes_a_result_that_is_too_large_for_a_card() {
    for children in [1, 500, 1_000, 2_000, 4_000, 10_000] {
        let tokens = share(Some(u64::MAX), children);
        for character in ["x", "中", "\u{1}", "\""] {
            let ended = Branch {
                deliverable: Some(card_id(1)),
                output_box: Some(box_id(u128::MAX)),
                error_detail: Some(character.repeat(4_096)),
                ..branch(9_999, BranchStatus::Canceled)
            };
            let text = json!(character.repeat(500_000));
            let one = entry(&ended, &of(&ended, Some(&deliverable(&text)), tokens), tokens).to_string();
            let all = (one.len() + 1) * children as usize;
            assert!(all < limits::CARD_BYTES - 1_024, "{children} of {character:?}: {all}");
        }
    }
}

#[test]
fn ob_03_a_share_becomes_smaller_at_the_join_and_never_larger() {
    let at_fork =
        |left| Batch { branches: 10, result_tokens: share(left, 10), ..crate::batch::rules::batch() };
    let bounded = at_fork(Some(4_000));
    assert!(is_bounded(&bounded) && !is_bounded(&at_fork(None)));
    assert_eq!(bounded.result_tokens, 200);
    // However much is left, and however many share it.
    for (left, branches) in [(131_072, 1), (131_000, 1_000), (130_000, 1_000), (139_999, 10_000)] {
        let fork = |left| Batch { branches, result_tokens: share(left, branches), ..bounded.clone() };
        assert!(is_bounded(&fork(Some(left))) && !is_bounded(&fork(None)), "{left}");
    }
    for (left, expected) in
        [(Some(8_000), 200), (Some(4_000), 200), (Some(1_000), 50), (Some(0), 0), (None, 200)]
    {
        assert_eq!(admitted(&bounded, left), expected, "{left:?}");
    }
}

/// OB-03: models count some texts as four times what the estimate has.
#[test]
fn shares_shrink_until_the_result_fits_as_its_reader_counts() {
    for (first, branches, per_share) in [(400, 8, 4), (3_000, 1, 3), (60, 64, 2), (1_000, 3, 1)] {
        let allowed = u64::from(first) * u64::from(branches);
        let counted = |share: u32| least(branches) + u64::from(share) * u64::from(branches) * per_share;
        let (mut share, mut steps) = (first, 0);
        while let Some(next) = smaller(share, counted(share), first, branches) {
            assert!(next < share, "{share}");
            (share, steps) = (next, steps + 1);
        }
        assert!(counted(share) <= allowed.max(least(branches)), "{share}");
        assert!(steps < 4, "{first} of {branches}: {steps}");
        // As much as fits, or nearly.
        assert!(share == 0 || counted(share) * 10 > allowed * 7, "{share} of {first}");
    }
    assert_eq!(smaller(100, 800, 100, 8), None, "as much as it may");
    assert_eq!(smaller(100, 801, 100, 8), Some(87));
    assert_eq!(smaller(87, 801, 100, 8), Some(76));
    assert_eq!(smaller(25, 100_000, 25, 8), Some(0));
    assert_eq!(smaller(0, u64::MAX, 100, 8), None, "nothing is left to cut");
    assert_eq!(smaller(1, least(200), 1, 200), None, "less than that it cannot be");
}
