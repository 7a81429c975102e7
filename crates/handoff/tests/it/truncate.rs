//! Shortening (LD-05).

use cardwire_handoff::{Part, truncate_part, truncate_text};
use cardwire_model::limits::{LOAD_END_TURNS, LOAD_TEXT_CHARS, LOAD_TEXT_END_CHARS};
use serde_json::{Value, json};

fn turns(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({ "role": "user", "content": format!("turn {n}") })).collect()
}

fn shorten(turns: &[Value], key_turns: &[u64]) -> Value {
    let key = "conversation_history";
    truncate_part(Part::Trace, &json!({ key: turns }), key_turns)[key].clone()
}

/// LD-05, SEC-07
#[test]
fn two_turns_at_either_end_are_kept() {
    let all = turns(10);
    let expected = json!([all[0], all[1], { "omitted_turns": 6 }, all[8], all[9]]);
    assert_eq!(shorten(&all, &[]), expected);
    let ends = usize::try_from(2 * LOAD_END_TURNS).unwrap();
    assert_eq!(shorten(&turns(ends), &[]), json!(turns(ends)));
    assert_eq!(shorten(&turns(ends + 1), &[])[2], json!({ "omitted_turns": 1 }));
    for count in 0..ends {
        assert_eq!(shorten(&turns(count), &[]), json!(turns(count)));
    }
}

/// LD-05
#[test]
fn turns_with_tool_calls_errors_and_references_are_kept_in_their_order() {
    let mut all = turns(14);
    all[3]["tool_calls"] = json!([{ "name": "f" }]);
    all[4]["tool_calls"] = json!([]);
    all[5]["error"] = json!("boom");
    all[6]["error"] = json!(null);
    all[8]["role"] = json!("tool");
    all[9]["status"] = json!("FAILED");
    let expected = json!([
        all[0], all[1], { "omitted_turns": 1 }, all[3], { "omitted_turns": 1 }, all[5], { "omitted_turns": 2 }, all[8],
        all[9], all[10], { "omitted_turns": 1 }, all[12], all[13],
    ]);
    assert_eq!(shorten(&all, &[10]), expected);
    // A turn that says which one it is goes by that.
    let mut named = turns(8);
    named[3]["turn_index"] = json!(100);
    assert_eq!(shorten(&named, &[100])[3], named[3]);
    assert_eq!(shorten(&named, &[3]).as_array().unwrap().len(), 5);
}

/// LD-05
#[test]
fn every_usual_name_of_a_conversation_is_known_at_any_depth() {
    let all = turns(9);
    for key in ["conversation_history", "turns", "messages"] {
        let short = truncate_part(Part::Sample, &json!({ "a": [{ key: all }] }), &[]);
        assert_eq!(short["a"][0][key].as_array().unwrap().len(), 5, "{key}");
    }
    let other = json!({ "steps": all });
    assert_eq!(truncate_part(Part::Trace, &other, &[]), other);
    // A trace may be the list itself; a list elsewhere is not a conversation.
    assert_eq!(truncate_part(Part::Trace, &json!(all), &[]).as_array().unwrap().len(), 5);
    assert_eq!(truncate_part(Part::Evaluation, &json!(all), &[]), json!(all));
}

/// LD-05
#[test]
fn shortening_again_changes_nothing() {
    let mut all = turns(20);
    all[7]["tool_call_id"] = json!("x");
    let once = shorten(&all, &[11]);
    assert_eq!(shorten(once.as_array().unwrap(), &[11]), once);
    // Less to refer to leaves out more, and the markers add up.
    let less = shorten(once.as_array().unwrap(), &[]);
    assert_eq!(less, shorten(&all, &[]));
}

/// LD-05, SEC-07
#[test]
fn a_long_text_keeps_its_two_ends() {
    let at_the_limit = "字".repeat(LOAD_TEXT_CHARS);
    assert_eq!(truncate_text(&at_the_limit), at_the_limit);
    let long = format!("{}{}{}", "头".repeat(1_000), "x".repeat(3_001), "尾".repeat(1_000));
    assert_eq!(long.chars().count(), LOAD_TEXT_CHARS + 1);
    let short = truncate_text(&long);
    let ends = ("头".repeat(LOAD_TEXT_END_CHARS), "尾".repeat(LOAD_TEXT_END_CHARS));
    assert_eq!(short, format!("{}\n\n[... 3001 chars omitted ...]\n\n{}", ends.0, ends.1));
    assert_eq!(truncate_text(&short), short);
    let nested = truncate_part(Part::Evaluation, &json!({ "a": [{ "b": long }], "c": 1 }), &[]);
    assert_eq!(nested, json!({ "a": [{ "b": short }], "c": 1 }));
}

/// A note may claim any number of turns.
#[test]
fn numbers_beyond_all_counting_do_no_harm() {
    let most = json!({ "omitted_turns": u64::MAX });
    let shortened = shorten(&[most.clone(), most, json!({ "role": "user", "content": "last" })], &[]);
    assert_eq!(shortened[0]["omitted_turns"], u64::MAX);
}
