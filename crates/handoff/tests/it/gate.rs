//! The gate: what must be on disk (HO-08, HO-09, HO-12, HO-15, LD-09).

use crate::fixtures::{
    DIR, SEED_REPORT, Watched, World, case_files, codes, design, entry, execution, execution_of, names,
    options, package, value, with,
};
use cardwire_handoff::{CheckOptions, Gate, Refusal, RefusalKind, check_files};
use cardwire_model::{Hash256, limits::HANDOFF_FILE_BYTES};
use serde_json::json;
use std::{cell::Cell, fs};

fn incomplete(result: Result<Vec<cardwire_handoff::Problem>, Refusal>, missing: &[&str]) {
    let refusal = result.unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.code),
        (RefusalKind::Unprocessable, "persistence_incomplete"),
        "{refusal}"
    );
    assert_eq!(names(&refusal.problems), missing, "{refusal}");
    assert!(missing.iter().all(|path| refusal.message.contains(path)), "{refusal}");
}

/// HO-08
#[test]
fn every_file_of_a_failed_sample_must_be_there() {
    for file in case_files("BS_MT_003") {
        let world = World::seed();
        world.remove(&file);
        incomplete(world.check(&package(execution())), &[&file]);
    }
}

/// HO-08
#[test]
fn every_other_sample_needs_a_trace_and_an_evaluation_and_should_have_an_attribution() {
    let [_, trace, evaluation, attribution] = case_files("BS_MT_002");
    let world = World::seed();
    world.case("BS_MT_002", &json!({ "sample_id": "BS_MT_002" }));
    world.remove(&attribution);
    let warnings = world.check(&package(execution())).unwrap();
    let warning = warnings.iter().find(|problem| problem.code == "attribution_missing").unwrap();
    assert_eq!(warning.file.as_deref(), Some(attribution.as_str()));
    world.remove(&trace);
    world.remove(&evaluation);
    incomplete(world.check(&package(execution())), &[&evaluation, &trace]);
}

/// HO-08: which samples failed is not for the index alone to say.
#[test]
fn a_failed_sample_that_is_not_in_the_index_needs_an_attribution() {
    let [_, _, evaluation, attribution] = case_files("BS_MT_002");
    let world = World::seed();
    world.case("BS_MT_002", &json!({ "sample_id": "BS_MT_002" }));
    world.remove(&attribution);
    world.put(&evaluation, r#"{"sample_id":"BS_MT_002","passed":false}"#);
    incomplete(world.check(&package(execution())), &[&attribution]);
    incomplete(world.check_deep(&package(execution())), &[&attribution]);
    for passed in [json!(true), json!(null), json!("false")] {
        world.put(&evaluation, &json!({ "sample_id": "BS_MT_002", "passed": passed }).to_string());
        assert!(codes(&world.check(&package(execution())).unwrap()).contains(&"attribution_missing"));
    }
    // The report is heard as well.
    for pointer in ["/layer1_problems/0/affected_samples/0", "/layer1_problems/0/typical_case_id"] {
        let report = with(value(SEED_REPORT), pointer, Some(json!("BS_MT_002")));
        world.put("layer1_problems_report.json", &report.to_string());
        incomplete(world.check(&package(execution())), &[&attribution]);
    }
}

/// HO-08
#[test]
fn summary_and_report_must_be_there() {
    for file in ["failure_summary.json", "layer1_problems_report.json"] {
        let world = World::seed();
        world.remove(file);
        incomplete(world.check(&package(execution())), &[file]);
    }
}

/// HO-08
#[test]
fn an_empty_file_is_missing() {
    for file in [
        "failure_summary.json",
        "layer1_problems_report.json",
        "samples/BS_MT_010.json",
        "samples/BS_MT_001.json",
    ] {
        let world = World::seed();
        world.put(file, "");
        incomplete(world.check(&package(execution())), &[file]);
        incomplete(world.check_deep(&package(execution())), &[file]);
    }
}

/// HO-08
#[test]
fn an_iteration_that_is_not_there_misses_everything_in_sorted_order() {
    let world = World::empty();
    let refusal = world.check(&package(execution_of(&["b", "a"]))).unwrap_err();
    let mut expected: Vec<String> = [case_files("a"), case_files("b")].concat();
    expected.extend(["failure_summary.json", "layer1_problems_report.json", "samples"].map(str::to_owned));
    expected.sort();
    assert_eq!(names(&refusal.problems), expected);
}

/// HO-08, HO-15
#[test]
fn there_is_at_least_one_sample_and_one_iteration() {
    let world = World::empty();
    world.put("failure_summary.json", "[]");
    world.put("layer1_problems_report.json", SEED_REPORT);
    fs::create_dir(world.at("samples")).unwrap();
    world.put("samples/.hidden.json", "{}");
    world.put("samples/notes.txt", "x");
    incomplete(world.check(&package(execution_of(&[]))), &["samples"]);

    let world = World::seed();
    let none = with(execution(), "/iteration_summary/total_iterations", Some(json!(0)));
    let refusal = world.check(&package(none)).unwrap_err();
    assert_eq!(refusal.field.as_deref(), Some("iteration_summary/total_iterations"));
}

/// HO-08
#[test]
fn a_temporary_file_is_no_sample_and_stands_for_none() {
    let world = World::seed();
    let [_, trace, ..] = case_files("BS_MT_010");
    world.remove(&trace);
    world.put("execution_traces/.1-1.tmp", "{}");
    world.put("execution_traces/BS_MT_010_trace.json.tmp", "{}");
    world.put("samples/.1-2.tmp", "{}");
    incomplete(world.check(&package(execution())), &[&trace]);
}

/// LD-09, LD-08
#[test]
fn the_gate_reads_nothing_but_summary_and_report() {
    let world = World::seed();
    world.put("samples/BS_MT_001.json", "not JSON");
    let watched = Watched::new(&world.files);
    check_files(&package(execution()), &watched, &options(false)).unwrap();
    let expected =
        ["failure_summary.json", "layer1_problems_report.json"].map(|file| format!("{DIR}/{file}"));
    assert_eq!(watched.reads(), expected);
}

/// HO-08
#[test]
fn a_deep_check_reads_every_file_once_and_says_what_is_wrong_where() {
    let world = World::seed();
    world.put("samples/BS_MT_001.json", "{\"a\":");
    world.put("execution_traces/BS_MT_003_trace.json", "{\"sample_id\":\"BS_MT_001\"}");
    world.put("evaluation_results/BS_MT_010_eval.json", "{\"a\":1,\"a\":2}");
    let mut sent = execution();
    sent["failure_samples_index"][0]["sha256"] = json!({ "trace": "00".repeat(16) });
    sent["failure_samples_index"][1]["sha256"] =
        json!({ "evaluation": Hash256::of(b"{\"sample_id\":\"BS_MT_003\"}").to_string() });
    let package = package(sent);
    assert!(world.check(&package).is_ok());

    let watched = Watched::new(&world.files);
    let refusal = check_files(&package, &watched, &options(true)).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Unprocessable, "invalid_file"));
    let found: Vec<(&str, Option<&str>)> =
        refusal.problems.iter().map(|p| (p.file.as_deref().unwrap(), p.field.as_deref())).collect();
    assert_eq!(
        found,
        [
            ("evaluation_results/BS_MT_010_eval.json", None),
            ("execution_traces/BS_MT_001_trace.json", Some("failure_samples_index/0/trace_path")),
            ("execution_traces/BS_MT_003_trace.json", Some("sample_id")),
            ("samples/BS_MT_001.json", Some("failure_samples_index/0/sample_path")),
        ]
    );
    let mut reads = watched.reads();
    let count = reads.len();
    reads.sort();
    reads.dedup();
    assert_eq!((reads.len(), count), (3 * 4 + 2, 3 * 4 + 2));
}

/// HO-09
#[test]
fn a_path_has_the_name_of_its_sample() {
    let world = World::seed();
    let other = case_files("BS_MT_010")[1].clone();
    let sent = with(execution(), "/failure_samples_index/0/trace_path", Some(json!(other)));
    let refusal = world.check(&package(sent)).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "invalid_package"));
    assert_eq!(refusal.field.as_deref(), Some("failure_samples_index/0/trace_path"));
    // Elsewhere under its own name is odd, but it is the sample's.
    world.put("old/BS_MT_001_trace.json", "{}");
    let odd =
        with(execution(), "/failure_samples_index/0/trace_path", Some(json!("old/BS_MT_001_trace.json")));
    assert!(codes(&world.check(&package(odd)).unwrap()).contains(&"odd_path"));
}

/// HO-09
#[test]
fn the_directory_has_the_number_of_the_report() {
    let world = World::seed();
    let mut report = value(SEED_REPORT);
    report["iteration"] = json!(11);
    world.put("layer1_problems_report.json", &report.to_string());
    assert!(codes(&world.check(&package(execution())).unwrap()).contains(&"iteration_mismatch"));
}

/// HO-12
#[test]
fn a_report_that_is_none_refuses_the_package() {
    let mut report = value(SEED_REPORT);
    report["modification_priority"][0]["problem_id"] = json!("L1P_404");
    for (text, field) in [
        (report.to_string(), Some("modification_priority/0/problem_id")),
        ("{".to_owned(), None),
        ("[]".to_owned(), None),
        ("{\"a\":\"\\u0000\"}".to_owned(), None),
    ] {
        let world = World::seed();
        world.put("layer1_problems_report.json", &text);
        let refusal = world.check(&package(execution())).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Unprocessable, "invalid_report"), "{text}");
        assert_eq!(refusal.field.as_deref(), field);
        assert_eq!(refusal.problems[0].file.as_deref(), Some("layer1_problems_report.json"));
    }
}

/// HO-08
#[test]
fn a_summary_that_is_no_json_refuses_the_package() {
    let world = World::seed();
    world.put("failure_summary.json", "{");
    let refusal = world.check(&package(execution())).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Unprocessable, "invalid_file"));
}

/// HO-15
#[test]
fn missing_design_files_are_warnings_unless_the_gate_is_strict() {
    let world = World::empty();
    let package = package(design());
    let check = |gate| check_files(&package, &world.files, &CheckOptions { gate, ..options(false) });
    for gate in [None, Some(Gate::Off)] {
        let warnings = check(gate).unwrap();
        assert_eq!(codes(&warnings), ["file_missing"; 3]);
        assert_eq!(warnings[0].field.as_deref(), Some("design_artifacts/business_rules_path"));
    }
    let base = "scenarios/leave_application";
    let expected = ["BusinessRules.md", "format_specifications.json", "unified_scenario_design.yaml"];
    let expected = expected.map(|name| format!("{base}/{name}"));
    incomplete(check(Some(Gate::Strict)), &expected.each_ref().map(String::as_str));
    // Design files must exist; what is in them is nobody's business here.
    world.write(&expected[0], b"");
    incomplete(check(Some(Gate::Strict)), &expected.each_ref().map(String::as_str)[1..]);
}

/// HO-15
#[test]
fn an_execution_is_always_checked_strictly() {
    let world = World::empty();
    let options = CheckOptions { gate: Some(Gate::Off), ..options(false) };
    let refusal = check_files(&package(execution()), &world.files, &options).unwrap_err();
    assert_eq!(refusal.code, "persistence_incomplete");
    assert_eq!("strict".parse(), Ok(Gate::Strict));
    assert_eq!("off".parse(), Ok(Gate::Off));
    assert_eq!("Strict".parse::<Gate>().unwrap_err().code, "invalid_request");
}

/// HO-08
#[test]
fn progress_counts_the_files_that_were_looked_at() {
    let world = World::seed();
    let seen = Cell::new(0);
    let progress = |count| {
        assert_eq!(count, seen.get() + 1);
        seen.set(count);
    };
    let options = CheckOptions { gate: None, deep: false, progress: &progress };
    check_files(&package(execution()), &world.files, &options).unwrap();
    assert_eq!(seen.get(), 3 * 4 + 2);
}

/// HO-06
#[test]
fn a_shortened_package_answers_for_its_complete_index() {
    let world = World::seed();
    world.case("BS_MT_002", &json!({ "sample_id": "BS_MT_002" }));
    world.put("failure_summary.json", &json!([entry("BS_MT_001"), entry("BS_MT_002")]).to_string());
    let [.., attribution] = case_files("BS_MT_002");
    world.remove(&attribution);
    let mut sent = execution_of(&["BS_MT_001"]);
    assert!(world.check(&package(sent.clone())).is_ok());
    sent["metadata"] = json!({ "index_truncated": true });
    incomplete(world.check(&package(sent)), &[&attribution]);
}

/// SEC-07
#[test]
fn a_file_larger_than_can_be_loaded_is_refused() {
    let world = World::seed();
    let file = fs::File::create(world.at("samples/BS_MT_010.json")).unwrap();
    file.set_len(HANDOFF_FILE_BYTES).unwrap();
    assert!(world.check(&package(execution())).is_ok());
    file.set_len(HANDOFF_FILE_BYTES + 1).unwrap();
    let refusal = world.check(&package(execution())).unwrap_err();
    assert_eq!((refusal.code, names(&refusal.problems)), ("invalid_file", vec!["samples/BS_MT_010.json"]));
}

/// HO-08
#[test]
fn many_samples_with_many_problems_give_a_short_answer() {
    let world = World::seed();
    for n in 0..300 {
        world.put(&format!("samples/s{n:03}.json"), "{}");
    }
    let refusal = world.check(&package(execution())).unwrap_err();
    assert_eq!(refusal.problems.len(), 100);
    assert_eq!(refusal.problems[0].file.as_deref(), Some("evaluation_results/s000_eval.json"));
    assert!(refusal.message.ends_with("; and 500 more problems"), "{refusal}");
}
