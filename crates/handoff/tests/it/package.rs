//! What every package has, and what a design hands over (HO-01, HO-02, HO-10).

use crate::fixtures::{design, execution, parse, with};
use cardwire_handoff::{Package, RefusalKind, Types};
use serde_json::{Value, json};

fn field_of(value: Value) -> (RefusalKind, &'static str, Option<String>) {
    let refusal = parse(value).unwrap_err();
    (refusal.kind, refusal.code, refusal.field)
}

fn refused(value: Value, code: &str, field: &str) {
    let (kind, found, at) = field_of(value.clone());
    assert_eq!((kind, found, at.as_deref()), (RefusalKind::Invalid, code, Some(field)), "{value}");
}

/// HO-01
#[test]
fn version_and_metadata_have_defaults_and_extra_fields_stay() {
    let mut sent = with(with(design(), "/version", None), "/metadata", None);
    sent["x_extra"] = json!({ "deep": [1, 2.5, null, "ü"] });
    let (package, _) = parse(sent.clone()).unwrap();
    sent["version"] = json!("2.0");
    sent["metadata"] = json!({});
    assert_eq!(*package.value(), sent);
    assert_eq!(package.into_value(), sent);
}

/// HO-01
#[test]
fn every_version_of_the_second_major_is_taken_and_no_other() {
    for version in ["2", "2.0", "2.7", "2.10.3"] {
        assert!(parse(with(design(), "/version", Some(json!(version)))).is_ok(), "{version}");
    }
    for version in ["1.0", "3.0", "20.0", "2.", "2.x", "", " 2.0", "two"] {
        refused(with(design(), "/version", Some(json!(version))), "unsupported_version", "version");
    }
    refused(with(design(), "/version", Some(json!(2.0))), "invalid_package", "version");
    refused(with(design(), "/version", Some(Value::Null)), "invalid_package", "version");
}

/// HO-01
#[test]
fn the_timestamp_is_required_and_kept_letter_for_letter() {
    refused(with(design(), "/timestamp", None), "invalid_package", "timestamp");
    for bad in [json!(1), json!(null), json!(""), json!("yesterday")] {
        refused(with(design(), "/timestamp", Some(bad)), "invalid_package", "timestamp");
    }
    let sent = "2026-01-04 10:30:00.5+08:00";
    let (package, _) = parse(with(design(), "/timestamp", Some(json!(sent)))).unwrap();
    assert_eq!(package.timestamp(), sent);
}

/// HO-01
#[test]
fn metadata_is_an_object() {
    for bad in [json!(null), json!([]), json!("x")] {
        refused(with(design(), "/metadata", Some(bad)), "invalid_package", "metadata");
    }
}

/// HO-01
#[test]
fn the_type_is_required_unless_it_is_fixed_and_then_it_must_agree() {
    let untyped = with(design(), "/handoff_type", None);
    refused(untyped.clone(), "invalid_package", "handoff_type");
    for bad in [json!("execute_to_execute"), json!(""), json!(1), json!(null)] {
        refused(with(design(), "/handoff_type", Some(bad)), "invalid_package", "handoff_type");
    }
    let types = Types::built_in();
    let (package, _) = Package::parse(untyped, Some("init_to_execute"), &types).unwrap();
    assert_eq!(package.handoff_type(), "init_to_execute");
    assert_eq!(package.value()["handoff_type"], "init_to_execute");
    assert!(Package::parse(design(), Some("init_to_execute"), &types).is_ok());
    for typed in ["execute_to_init", "unheard_of"] {
        let refusal = Package::parse(design(), Some(typed), &types).unwrap_err();
        assert_eq!(refusal.field.as_deref(), Some("handoff_type"), "{typed}");
    }
}

/// HO-01, SEC-08
#[test]
fn what_is_no_object_is_no_package() {
    for value in [json!(null), json!([]), json!("x"), json!(1)] {
        assert_eq!(field_of(value).1, "invalid_package");
    }
}

/// HO-02
#[test]
fn a_design_needs_a_requirement_and_files() {
    for (pointer, bad) in [
        ("/user_requirement", None),
        ("/user_requirement", Some(json!(" "))),
        ("/user_requirement", Some(json!(1))),
        ("/design_artifacts", None),
        ("/design_artifacts", Some(json!({}))),
        ("/design_artifacts", Some(json!([]))),
        ("/design_artifacts", Some(json!(null))),
        ("/design_artifacts/business_rules_path", Some(json!(7))),
        ("/design_artifacts/business_rules_path", Some(json!(null))),
        ("/design_rationale", Some(json!(1))),
        ("/design_iterations", Some(json!({}))),
        ("/known_constraints", Some(json!("x"))),
    ] {
        refused(with(design(), pointer, bad), "invalid_package", &pointer[1..]);
    }
    refused(
        with(design(), "/known_constraints", Some(json!(["a", 1]))),
        "invalid_package",
        "known_constraints/1",
    );
    refused(with(design(), "/design_iterations", Some(json!([1]))), "invalid_package", "design_iterations/0");
}

/// HO-02
#[test]
fn the_optional_fields_of_a_design_may_be_null() {
    let mut sent = design();
    for key in ["design_rationale", "design_iterations", "known_constraints"] {
        sent[key] = Value::Null;
    }
    assert_eq!(parse(sent).unwrap().1, []);
    let mut sent = design();
    sent["design_rationale"] = json!("why");
    sent["design_iterations"] = json!([{ "n": 1 }]);
    sent["known_constraints"] = json!(["a"]);
    assert_eq!(parse(sent).unwrap().1, []);
}

/// HO-02
#[test]
fn other_artifacts_are_allowed_and_the_usual_ones_recommended() {
    let (_, warnings) =
        parse(with(design(), "/design_artifacts", Some(json!({ "mine": "a/b.md" })))).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "artifacts_recommended");
}

/// HO-10
#[test]
fn design_paths_stay_below_the_root() {
    for bad in ["/etc/passwd", "../x", "a/../../x", "a\u{0}b", "", "a\\b", "a/./b"] {
        let value = with(design(), "/design_artifacts/mine", Some(json!(bad)));
        refused(value, "unsafe_path", "design_artifacts/mine");
    }
}

/// SEC-08, W-20
#[test]
fn text_that_no_card_can_hold_is_refused_with_its_place() {
    let value = with(design(), "/x", Some(json!({ "y": ["a\u{0}b"] })));
    refused(value, "invalid_package", "x/y/0");
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    assert_eq!(field_of(with(design(), "/x", Some(deep))).1, "invalid_package");
}

/// HO-03
#[test]
fn all_that_is_wrong_is_reported_at_once() {
    let refusal = parse(json!({ "handoff_type": "execute_to_init" })).unwrap_err();
    let fields: Vec<&str> = refusal.problems.iter().filter_map(|problem| problem.field.as_deref()).collect();
    assert_eq!(
        fields,
        [
            "execution_output_dir",
            "failure_samples_index",
            "iteration_summary",
            "layer1_problems_report_path",
            "modification_suggestions_summary",
            "timestamp",
            "trigger_reason",
        ]
    );
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "invalid_package"));
    assert_eq!(refusal.field.as_deref(), Some("execution_output_dir"));
    assert!(fields.iter().all(|field| refusal.message.contains(field)), "{refusal}");
}

/// HO-03
#[test]
fn the_fields_of_an_execution_have_their_types() {
    for (pointer, bad) in [
        ("/trigger_reason", json!("")),
        ("/trigger_reason", json!(1)),
        ("/iteration_summary", json!([])),
        ("/failure_samples_index", json!({})),
        ("/modification_suggestions_summary", json!("x")),
        ("/execution_output_dir", json!(1)),
        ("/layer1_problems_report_path", json!(null)),
    ] {
        refused(with(execution(), pointer, Some(bad)), "invalid_package", &pointer[1..]);
    }
    for pointer in ["/execution_output_dir", "/layer1_problems_report_path"] {
        for bad in ["/x", "../x", "a/../b", "", "a\u{0}"] {
            refused(with(execution(), pointer, Some(json!(bad))), "unsafe_path", &pointer[1..]);
        }
    }
}
