//! Making a package of a directory.

use crate::fixtures::{DIR, SEED_REPORT, World, case_files, parse, value};
use cardwire_handoff::{RefusalKind, package_from_directory};
use serde_json::{Value, json};

fn about() -> Value {
    json!({
        "timestamp": "2026-01-04T15:30:00",
        "trigger_reason": "too many failures",
        "modification_suggestions_summary": ["a", "b", "c"],
        "extra": 1,
    })
}

fn ids(package: &Value) -> Vec<&str> {
    let entries = package["failure_samples_index"].as_array().unwrap();
    entries.iter().map(|entry| entry["sample_id"].as_str().unwrap()).collect()
}

/// HO-03, HO-08
#[test]
fn a_directory_becomes_a_package_that_passes_the_gate() {
    let world = World::seed();
    world.case("X_1", &json!({}));
    let evaluation = json!({ "passed": false, "failure_type": "F", "checkers": [{ "name": "c1", "passed": false }, { "name": "c2", "passed": true }] });
    world.put("evaluation_results/X_1_eval.json", &evaluation.to_string());
    world.put("execution_traces/X_1_trace.json", &json!({ "conversation_history": [1, 2, 3] }).to_string());
    let made = package_from_directory(&world.files, DIR, about()).unwrap();
    // 001, 003 and 010 are affected as the report says.
    assert_eq!(ids(&made), ["BS_MT_001", "BS_MT_003", "BS_MT_010", "X_1"]);
    assert_eq!(
        made["iteration_summary"],
        json!({ "total_samples": 4, "failed_samples": 4, "total_iterations": 12 })
    );
    let entry = &made["failure_samples_index"][3];
    assert_eq!(
        (&entry["failure_type"], &entry["conversation_turns"], &entry["checkers_failed"]),
        (&json!("F"), &json!(3), &json!(["c1"]))
    );
    assert_eq!(made["failure_samples_index"][0]["priority"], "high");
    assert_eq!(made["extra"], 1);
    let (package, warnings) = parse(made).unwrap();
    assert_eq!(warnings, []);
    world.check_deep(&package).unwrap();
}

/// HO-08
#[test]
fn who_passed_is_not_in_the_index_unless_the_summary_says_otherwise() {
    let world = World::seed();
    let mut report = value(SEED_REPORT);
    report["layer1_problems"] = json!([]);
    report["modification_priority"] = json!([]);
    world.put("layer1_problems_report.json", &report.to_string());
    let made = |summary: Value| {
        world.put("failure_summary.json", &summary.to_string());
        package_from_directory(&world.files, DIR, about()).unwrap()
    };
    assert_eq!(ids(&made(json!({}))), Vec::<&str>::new());
    assert_eq!(ids(&made(json!({ "failed_samples": ["BS_MT_003", "gone"] }))), ["BS_MT_003"]);
    let listed = made(json!([{ "sample_id": "BS_MT_010", "priority": "low", "failure_type": "T" }]));
    assert_eq!(ids(&listed), ["BS_MT_010"]);
    assert_eq!(listed["failure_samples_index"][0]["priority"], "low");
    assert_eq!(listed["failure_samples_index"][0]["failure_type"], "T");
}

/// HO-08
#[test]
fn a_part_that_is_missing_is_named_by_the_gate() {
    let world = World::seed();
    let [.., attribution] = case_files("BS_MT_001");
    world.remove(&attribution);
    let made = package_from_directory(&world.files, DIR, about()).unwrap();
    assert_eq!(made["failure_samples_index"][0]["sha256"].get("attribution"), None);
    let refusal = world.check(&parse(made).unwrap().0).unwrap_err();
    assert_eq!(refusal.problems[0].file, Some(attribution));
}

/// HO-10, SEC-08
#[test]
fn a_directory_that_is_none_is_refused() {
    let world = World::empty();
    let refusal = package_from_directory(&world.files, "nowhere/iteration_1", about()).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Unprocessable, "persistence_incomplete"));
    assert_eq!(package_from_directory(&world.files, "../x", about()).unwrap_err().code, "unsafe_path");
    assert_eq!(package_from_directory(&world.files, DIR, json!([])).unwrap_err().code, "invalid_request");
    let world = World::seed();
    world.put("layer1_problems_report.json", "{");
    assert_eq!(package_from_directory(&world.files, DIR, about()).unwrap_err().code, "invalid_file");
}
