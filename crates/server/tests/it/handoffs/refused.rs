//! What is no package: a 4xx that names the field, and nothing is written.

use super::{HANDOFFS, Tree, design, example};
use crate::support::{Api, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    /// HO-01..HO-07
    every_wrong_field_is_named;
    /// HO-03
    all_that_is_missing_is_told_at_once;
    /// HO-12
    a_report_that_does_not_hold_together_is_refused;
    /// HO-10, SEC-06
    no_path_leads_out_of_the_workspace;
}

/// A package with one field changed.
fn with(mut package: Value, pointer: &str, value: Value) -> Value {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = package.pointer_mut(parent).unwrap();
    match parent.as_array_mut() {
        Some(items) => items[last.parse::<usize>().unwrap()] = value,
        None => parent[last] = value,
    }
    package
}

async fn every_wrong_field_is_named(api: Api) {
    Tree::seed(&api);
    let (init, exec) = (|| example("init_to_execute"), || example("execute_to_init"));
    let long = "x".repeat(2_001);
    for (package, code, field) in [
        (json!([]), "bad_request", "body"),
        (json!({}), "invalid_package", "handoff_type"),
        (with(init(), "/version", json!("3.0")), "unsupported_version", "version"),
        (with(init(), "/version", json!(2)), "invalid_package", "version"),
        (with(init(), "/handoff_type", json!("other")), "invalid_package", "handoff_type"),
        (with(init(), "/timestamp", json!("yesterday")), "invalid_package", "timestamp"),
        (with(init(), "/metadata", json!([])), "invalid_package", "metadata"),
        (with(init(), "/user_requirement", json!("")), "invalid_package", "user_requirement"),
        (with(init(), "/design_artifacts", json!({})), "invalid_package", "design_artifacts"),
        (
            with(init(), "/design_artifacts/business_rules_path", json!(1)),
            "invalid_package",
            "business_rules_path",
        ),
        (with(init(), "/known_constraints", json!("x")), "invalid_package", "known_constraints"),
        (with(exec(), "/iteration_summary", json!([])), "invalid_package", "iteration_summary"),
        (with(exec(), "/failure_samples_index/0/priority", json!("urgent")), "invalid_package", "priority"),
        (
            with(exec(), "/failure_samples_index/1/sample_id", json!("BS_MT_001")),
            "invalid_package",
            "sample_id",
        ),
        (with(exec(), "/failure_samples_index/0/content", json!("x")), "inline_content_forbidden", "content"),
        (with(exec(), "/failure_samples_index/0/note", json!(long)), "inline_content_forbidden", "note"),
        (
            with(exec(), "/modification_suggestions_summary", json!(["a", "b", "c", "d", "e", "f"])),
            "invalid_package",
            "modification_suggestions_summary",
        ),
        (
            with(exec(), "/modification_suggestions_summary/0", json!("x".repeat(301))),
            "invalid_package",
            "modification_suggestions_summary",
        ),
    ] {
        for path in [HANDOFFS, "/handoffs:validate"] {
            let refused = api.post(path, package.clone()).await;
            if code != "bad_request" {
                refused.expect_error(400, code);
            }
            let told = refused.expect(400).to_string();
            assert!(told.contains(field), "{path}: {told} does not name {field}");
        }
    }
    assert!(api.get(HANDOFFS).await.expect(200)["items"].as_array().unwrap().is_empty());
}

async fn all_that_is_missing_is_told_at_once(api: Api) {
    let package = json!({ "handoff_type": "execute_to_init", "timestamp": "2026-01-04T15:30:00" });
    let refused = api.post(HANDOFFS, package).await;
    refused.expect_error(400, "invalid_package");
    let problems = refused.json()["error"]["detail"]["problems"].to_string();
    for field in [
        "execution_output_dir",
        "trigger_reason",
        "iteration_summary",
        "failure_samples_index",
        "layer1_problems_report_path",
        "modification_suggestions_summary",
    ] {
        assert!(problems.contains(field), "{field} is not in {problems}");
    }
}

async fn a_report_that_does_not_hold_together_is_refused(api: Api) {
    let report = example("layer1_problems_report");
    for (wrong, field) in [
        (with(report.clone(), "/layer1_problems/1/problem_id", json!("L1P_001")), "problem_id"),
        (with(report.clone(), "/modification_priority/0/problem_id", json!("L1P_009")), "problem_id"),
        (with(report.clone(), "/modification_priority/1/priority", json!(1)), "priority"),
        (with(report.clone(), "/layer1_problems/0/severity", json!("awful")), "severity"),
        (with(report.clone(), "/total_samples", json!("many")), "total_samples"),
    ] {
        let refused = api.post("/handoffs:validate", wrong.clone()).await;
        assert!(matches!(refused.status.as_u16(), 400 | 422), "{}", refused.json());
        assert!(refused.json().to_string().contains(field), "{} does not name {field}", refused.json());
        // The same in a directory of results.
        let tree = Tree::seed(&api);
        tree.write("layer1_problems_report.json", &wrong);
        api.post(HANDOFFS, example("execute_to_init")).await.expect_error(422, "invalid_report");
    }
    // Sums that do not add up are worth a word, no more.
    let odd = with(report, "/failure_rate", json!(0.5));
    let valid = api.post("/handoffs:validate", odd).await.expect(200);
    assert!(valid["warnings"].to_string().contains("failure_rate"), "{valid}");
}

async fn no_path_leads_out_of_the_workspace(api: Api) {
    let tree = Tree::seed(&api);
    let secret = api.workspace().parent().unwrap().join("secret.json");
    std::fs::write(&secret, r#"{"sample_id":"BS_MT_001","secret":"canary-4711"}"#).unwrap();
    let exec = || example("execute_to_init");
    let up = "../".repeat(5) + "secret.json";
    for (package, field) in [
        (with(exec(), "/failure_samples_index/0/sample_path", json!(up)), "sample_path"),
        (with(exec(), "/failure_samples_index/0/sample_path", json!(secret)), "sample_path"),
        (with(exec(), "/failure_samples_index/0/trace_path", json!("a\u{0}b")), "trace_path"),
        (with(exec(), "/failure_samples_index/0/sample_path", json!("a\u{0}b")), "sample_path"),
        (with(exec(), "/execution_output_dir", json!("a\u{0}b")), "execution_output_dir"),
        (with(exec(), "/execution_output_dir", json!("..")), "execution_output_dir"),
        (with(exec(), "/execution_output_dir", json!("/tmp")), "execution_output_dir"),
        (with(exec(), "/layer1_problems_report_path", json!("../r.json")), "layer1_problems_report_path"),
        (
            with(design(), "/design_artifacts/business_rules_path", json!("/etc/passwd")),
            "business_rules_path",
        ),
        (with(design(), "/design_artifacts/business_rules_path", json!("a\u{0}b")), "business_rules_path"),
    ] {
        let refused = api.post(HANDOFFS, package).await;
        refused.expect_error(400, "unsafe_path");
        let told = refused.expect(400).to_string();
        assert!(told.contains(field), "{told} does not name {field}");
    }
    let pack = json!({ "execution_output_dir": "a\u{0}b" });
    api.post("/projects/p1/handoffs:pack", pack).await.expect_error(400, "unsafe_path");
    // A text that is no path is refused as any text with NUL is.
    let noted = with(exec(), "/trigger_reason", json!("a\u{0}b"));
    api.post(HANDOFFS, noted).await.expect_error(400, "bad_request");
    // A link is no way out either, neither before a package is accepted nor afterwards.
    tree.remove("samples/BS_MT_001.json");
    std::os::unix::fs::symlink(&secret, tree.path("samples/BS_MT_001.json")).unwrap();
    api.post(HANDOFFS, exec()).await.expect_error(400, "unsafe_path");
    tree.remove("samples/BS_MT_001.json");
    tree.write("samples/BS_MT_001.json", &json!({ "sample_id": "BS_MT_001" }));
    let sent = api.post(HANDOFFS, exec()).await.expect(201);
    tree.remove("samples/BS_MT_001.json");
    for link in [true, false] {
        let path = tree.path("samples/BS_MT_001.json");
        if link {
            std::os::unix::fs::symlink(&secret, &path).unwrap();
        } else {
            std::fs::hard_link(&secret, &path).unwrap();
        }
        let wanted = json!({ "mode": "custom", "sample_ids": ["BS_MT_001"] });
        let id = sent["handoff_id"].as_str().unwrap();
        let load = api.post(&format!("{HANDOFFS}/{id}:load"), wanted).await.expect(200);
        assert!(!load.to_string().contains("canary-4711"), "{load}");
        assert_eq!(load["invalid"][0]["part"], "sample", "{load}");
        std::fs::remove_file(path).unwrap();
    }
}
