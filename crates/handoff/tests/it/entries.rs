//! The index of failed samples and the suggestions (HO-04, HO-05, HO-07).

use crate::fixtures::{codes, entry, execution, execution_of, parse, with};
use cardwire_handoff::{Part, Priority, RefusalKind};
use cardwire_model::limits::{
    HANDOFF_ENTRIES, HANDOFF_INDEX_TEXT_CHARS, HANDOFF_SUGGESTION_CHARS, HANDOFF_SUGGESTIONS,
    HANDOFF_SUGGESTIONS_MIN, NAME_CHARS,
};
use serde_json::{Value, json};

const FIRST: &str = "/failure_samples_index/0";

/// The example with one member of its first entry changed.
fn changed(key: &str, new: Option<Value>) -> Value {
    with(execution(), &format!("{FIRST}/{key}"), new)
}

fn refused(value: Value, code: &str, field: &str) {
    let refusal = parse(value).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, code), "{refusal}");
    assert_eq!(refusal.field.as_deref(), Some(field), "{refusal}");
}

/// HO-04
#[test]
fn an_entry_needs_its_id_and_the_paths_of_its_four_parts() {
    for key in ["sample_id", "sample_path", "trace_path", "evaluation_path", "attribution_path"] {
        let field = format!("failure_samples_index/0/{key}");
        for bad in [None, Some(json!(1)), Some(json!(null))] {
            refused(changed(key, bad), "invalid_package", &field);
        }
    }
    refused(changed("sample_id", Some(json!(" "))), "invalid_package", "failure_samples_index/0/sample_id");
    refused(with(execution(), FIRST, Some(json!("BS_MT_001"))), "invalid_package", "failure_samples_index/0");
}

/// HO-04
#[test]
fn two_entries_cannot_be_the_same_sample() {
    refused(execution_of(&["a", "b", "a"]), "invalid_package", "failure_samples_index/2/sample_id");
    // Names are compared letter for letter: these are two samples.
    assert!(parse(execution_of(&["a", "A"])).is_ok());
}

/// HO-04
#[test]
fn the_other_members_are_checked_if_they_are_there() {
    for (key, bad) in [
        ("priority", json!("urgent")),
        ("priority", json!("High")),
        ("priority", json!(null)),
        ("priority", json!(1)),
        ("failure_type", json!(1)),
        ("conversation_turns", json!(-1)),
        ("conversation_turns", json!("8")),
        ("checkers_failed", json!("x")),
    ] {
        refused(changed(key, Some(bad)), "invalid_package", &format!("failure_samples_index/0/{key}"));
    }
    for key in ["priority", "failure_type", "conversation_turns", "checkers_failed"] {
        assert!(parse(changed(key, None)).is_ok(), "{key}");
    }
    let (package, _) = parse(changed("priority", None)).unwrap();
    assert_eq!(package.index()[0].priority, Priority::Medium);
    assert_eq!(package.index()[1].priority, Priority::High);
    assert_eq!(package.index()[0].path(Part::Sample).unwrap().as_str(), "samples/BS_MT_001.json");
}

/// HO-04
#[test]
fn extra_members_of_an_entry_stay() {
    let sent = changed("reviewer", Some(json!({ "name": "Ada" })));
    let (package, _) = parse(sent.clone()).unwrap();
    assert_eq!(package.value()["failure_samples_index"], sent["failure_samples_index"]);
}

/// HO-10
#[test]
fn an_entry_cannot_lead_elsewhere() {
    for key in ["sample_path", "trace_path", "evaluation_path", "attribution_path"] {
        for bad in ["/etc/passwd", "../../secret.json", "samples/../../x", "a\u{0}", ""] {
            let field = format!("failure_samples_index/0/{key}");
            refused(changed(key, Some(json!(bad))), "unsafe_path", &field);
        }
    }
    for id in ["../x", "a/b", "..", ".hidden"] {
        refused(changed("sample_id", Some(json!(id))), "unsafe_path", "failure_samples_index/0/sample_id");
    }
}

/// SEC-07
#[test]
fn an_id_has_at_most_128_characters() {
    let of = |id: &str, count: usize| execution_of(&[id.repeat(count).as_str()]);
    assert!(parse(of("a", NAME_CHARS)).is_ok());
    refused(of("a", NAME_CHARS + 1), "invalid_package", "failure_samples_index/0/sample_id");
    // It must be a name of files too, and those count bytes.
    assert!(parse(of("样", 70)).is_ok());
    assert_eq!(parse(of("样", NAME_CHARS)).unwrap_err().code, "unsafe_path");
}

/// HO-05
#[test]
fn content_in_an_entry_is_refused() {
    for key in ["content", "conversation_history", "trace", "sample", "tool_calls"] {
        for body in [json!("x"), json!([]), json!(null)] {
            let field = format!("failure_samples_index/0/{key}");
            refused(changed(key, Some(body)), "inline_content_forbidden", &field);
        }
    }
}

/// HO-05, SEC-07
#[test]
fn a_text_of_more_than_2000_characters_in_the_index_is_content() {
    let text = |chars: usize| "字".repeat(chars);
    assert!(parse(changed("note", Some(json!(text(HANDOFF_INDEX_TEXT_CHARS))))).is_ok());
    let long = text(HANDOFF_INDEX_TEXT_CHARS + 1);
    for body in [json!(long), json!([[{ "a": long }]]), json!({ long.as_str(): 1 })] {
        refused(changed("note", Some(body)), "inline_content_forbidden", "failure_samples_index/0/note");
    }
    // Outside of the index it is a matter of size only.
    assert!(parse(with(execution(), "/trigger_reason", Some(json!(long)))).is_ok());
}

/// HO-04
#[test]
fn hashes_are_digits_and_enough_of_them() {
    let with_hash = |hash: Value| changed("sha256", Some(json!({ "trace": hash })));
    for good in ["0123456789abcdef", &"A".repeat(32), &"f".repeat(64)] {
        assert!(parse(with_hash(json!(good))).is_ok(), "{good}");
    }
    for bad in [json!("0123456789abcde"), json!("f".repeat(65)), json!("g".repeat(32)), json!(1), json!(null)]
    {
        refused(with_hash(bad), "invalid_package", "failure_samples_index/0/sha256/trace");
    }
    refused(changed("sha256", Some(json!("x"))), "invalid_package", "failure_samples_index/0/sha256");
}

/// HO-07, SEC-07
#[test]
fn there_are_three_to_five_suggestions() {
    let suggesting = |count: usize| {
        with(execution(), "/modification_suggestions_summary", Some(json!(vec!["do it"; count])))
    };
    for count in HANDOFF_SUGGESTIONS_MIN..=HANDOFF_SUGGESTIONS {
        assert!(!codes(&parse(suggesting(count)).unwrap().1).contains(&"few_suggestions"), "{count}");
    }
    for count in 0..HANDOFF_SUGGESTIONS_MIN {
        assert!(codes(&parse(suggesting(count)).unwrap().1).contains(&"few_suggestions"), "{count}");
    }
    refused(suggesting(HANDOFF_SUGGESTIONS + 1), "invalid_package", "modification_suggestions_summary");
}

/// HO-07, SEC-07
#[test]
fn a_suggestion_has_at_most_300_characters_and_says_something() {
    let suggesting =
        |text: String| with(execution(), "/modification_suggestions_summary/1", Some(json!(text)));
    assert!(parse(suggesting("改".repeat(HANDOFF_SUGGESTION_CHARS))).is_ok());
    let field = "modification_suggestions_summary/1";
    refused(suggesting("改".repeat(HANDOFF_SUGGESTION_CHARS + 1)), "invalid_package", field);
    refused(suggesting(" ".to_owned()), "invalid_package", field);
    refused(with(execution(), &format!("/{field}"), Some(json!(1))), "invalid_package", field);
}

/// SEC-07
#[test]
fn an_index_has_at_most_ten_thousand_entries() {
    let of = |count: usize| {
        let entries: Vec<Value> = (0..count).map(|n| entry(&format!("s{n}"))).collect();
        with(execution(), "/failure_samples_index", Some(json!(entries)))
    };
    assert!(parse(of(HANDOFF_ENTRIES)).is_ok());
    refused(of(HANDOFF_ENTRIES + 1), "invalid_package", "failure_samples_index");
}

/// HO-03
#[test]
fn an_index_that_names_nobody_is_worth_a_warning() {
    assert!(codes(&parse(execution_of(&[])).unwrap().1).contains(&"empty_index"));
}
