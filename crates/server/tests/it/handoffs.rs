//! Handoff packages over HTTP: what is accepted, what is refused, what a load gives (API-12, HO-01..HO-15, LD-01..LD-09).

mod delivery;
mod loading;
mod refused;
mod rewritten;
pub(crate) mod tree;
mod walls;

use crate::support::{Api, on_both, on_sqlite};
use serde_json::{Value, json};
use tree::Tree;

on_both! {
    /// HO-11
    first_packages_of_one_iteration_at_once_are_all_accepted;
}

on_sqlite! {
    /// HO-13, X-16, X-17
    the_examples_of_the_seed_are_accepted_as_they_are;
    /// HO-01
    what_has_a_default_may_be_left_out_and_what_is_unknown_is_kept;
    /// HO-08
    nothing_is_registered_before_everything_is_on_disk;
    /// HO-06
    an_index_that_is_too_long_keeps_its_most_important_entries;
    /// HO-11
    an_iteration_that_was_handed_over_does_not_change;
    /// HO-15
    design_files_are_asked_for_only_where_the_gate_is_strict;
    further_types_have_a_schema_of_their_own;
    /// HO-10
    a_project_may_have_a_workspace_of_its_own;
    files_are_written_once;
    a_package_is_made_of_a_directory;
    /// HO-14
    a_stored_package_does_not_depend_on_what_its_type_has_become;
    /// API-16
    a_repeat_is_answered_as_the_first_time_whatever_became_of_the_files;
    /// HO-14
    what_cannot_be_kept_as_it_is_is_refused;
}

pub(crate) const HANDOFFS: &str = "/projects/p1/handoffs";

/// The three examples of the seed, as they stand there.
pub(crate) fn example(name: &str) -> Value {
    let path = format!("{}/../handoff/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A package of design files.
pub(crate) fn design() -> Value {
    json!({
        "handoff_type": "init_to_execute", "timestamp": "2026-01-04T10:30:00",
        "user_requirement": "samples", "design_artifacts": { "business_rules_path": "rules.md" },
    })
}

async fn the_examples_of_the_seed_are_accepted_as_they_are(api: Api) {
    let tree = Tree::seed(&api);
    for name in ["init_to_execute", "execute_to_init"] {
        let package = example(name);
        api.post("/handoffs:validate", package.clone()).await.expect(200);
        let sent = api.post(HANDOFFS, package.clone()).await.expect(201);
        let got = api.get(&format!("{HANDOFFS}/{}", sent["handoff_id"].as_str().unwrap())).await.expect(200);
        for (field, value) in package.as_object().unwrap() {
            assert_eq!(&got["package"][field], value, "{name}: {field}");
        }
        // HO-14: the card that others are handed says the same.
        let card =
            api.get(&format!("/projects/p1/cards/{}", sent["card_id"].as_str().unwrap())).await.expect(200);
        assert_eq!((&card["content"], &card["type"]), (&got["package"], &json!("handoff.package")));
        assert_eq!(
            api.shown("p1", sent["box_id"].as_str().unwrap()).await,
            [card["card_id"].as_str().unwrap()]
        );
    }
    let report = api.post("/handoffs:validate", tree.report.clone()).await.expect(200);
    let codes: Vec<&Value> = report["warnings"].as_array().unwrap().iter().map(|w| &w["field"]).collect();
    assert!(!codes.is_empty(), "X-17: four names and a count of nine are worth a warning");
    let list = api.get(HANDOFFS).await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

async fn what_has_a_default_may_be_left_out_and_what_is_unknown_is_kept(api: Api) {
    let mut package = design();
    package["metadata"] = json!({ "team": 7 });
    package["x_note"] = json!({ "deep": [1, 2.5, null] });
    let sent = api.post(HANDOFFS, package.clone()).await.expect(201);
    let got = api.get(&format!("{HANDOFFS}/{}", sent["handoff_id"].as_str().unwrap())).await.expect(200);
    package["version"] = json!("2.0");
    assert_eq!(got["package"], package);

    // A type that the request fixes may be left out, and must not be another.
    package.as_object_mut().unwrap().remove("handoff_type");
    api.post(HANDOFFS, package.clone()).await.expect_error(400, "invalid_package");
    api.post(&format!("{HANDOFFS}?handoff_type=init_to_execute"), package).await.expect(201);
    let wrong = api.post(&format!("{HANDOFFS}?handoff_type=execute_to_init"), design()).await;
    wrong.expect_error(400, "invalid_package");
}

async fn nothing_is_registered_before_everything_is_on_disk(api: Api) {
    let tree = Tree::seed(&api);
    tree.remove("attribution_analysis/BS_MT_001_attribution.json");
    tree.remove("execution_traces/BS_MT_003_trace.json");
    let refused = api.post(HANDOFFS, example("execute_to_init")).await;
    refused.expect_error(422, "persistence_incomplete");
    let problems = refused.json()["error"]["detail"]["problems"].clone();
    let mut files: Vec<&str> =
        problems.as_array().unwrap().iter().filter_map(|p| p["file"].as_str()).collect();
    let found = files.clone();
    files.sort_unstable();
    assert_eq!(found, files, "sorted");
    assert!(files.iter().any(|file| file.ends_with("BS_MT_001_attribution.json")), "{files:?}");
    assert!(files.iter().any(|file| file.ends_with("BS_MT_003_trace.json")), "{files:?}");
    assert!(api.get(HANDOFFS).await.expect(200)["items"].as_array().unwrap().is_empty());
    // A sample that the index leaves out has failed nonetheless, if its evaluation says so.
    let tree = Tree::seed(&api);
    for part in ["samples/X.json", "execution_traces/X_trace.json"] {
        tree.write(part, &json!({ "sample_id": "X" }));
    }
    tree.write("evaluation_results/X_eval.json", &json!({ "sample_id": "X", "passed": false }));
    let refused = api.post(HANDOFFS, example("execute_to_init")).await;
    refused.expect_error(422, "persistence_incomplete");
    let missing = &refused.json()["error"]["detail"]["missing"];
    assert_eq!(missing, &json!(["attribution_analysis/X_attribution.json"]));
    let audit = api.get("/projects/p1/audit?limit=500").await.expect(200).to_string();
    assert!(!audit.contains("handoff.accept"));
}

async fn an_index_that_is_too_long_keeps_its_most_important_entries(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 200);
    let sent = api.post(HANDOFFS, tree.package()).await.expect(201);
    assert!(sent["token_estimate"].as_u64().unwrap() <= 5_000, "{sent}");
    let got = api.get(&format!("{HANDOFFS}/{}", sent["handoff_id"].as_str().unwrap())).await.expect(200);
    let (package, metadata) = (&got["package"], &got["package"]["metadata"]);
    let kept = package["failure_samples_index"].as_array().unwrap();
    assert_eq!((&metadata["index_truncated"], &metadata["index_total"]), (&json!(true), &json!(200)));
    assert_eq!(metadata["index_included"], json!(kept.len()));
    assert!(!kept.is_empty() && kept.len() < 200);
    let ranks: Vec<usize> = kept
        .iter()
        .map(|entry| ["high", "medium", "low"].iter().position(|p| entry["priority"] == *p).unwrap())
        .collect();
    assert!(ranks.is_sorted(), "highs first: {ranks:?}");
    // What was left out is beside the data, with all that was there before.
    let summary = tree.read("failure_summary.json");
    assert_eq!(summary["failure_samples_index"].as_array().unwrap().len(), 200);
    assert_eq!(summary["failed"], 200);
    // The deepest load still reaches every sample.
    let id = sent["handoff_id"].as_str().unwrap();
    let all =
        api.post(&format!("{HANDOFFS}/{id}:load"), json!({ "mode": "custom", "sample_ids": ["S199"] })).await;
    assert_eq!(all.expect(200)["missing"], json!([]));
}

async fn an_iteration_that_was_handed_over_does_not_change(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 2);
    let package = tree.package();
    api.post(HANDOFFS, package.clone()).await.expect(201);
    api.post(HANDOFFS, package.clone()).await.expect(201);
    let mut report = tree.report.clone();
    report["failed_samples"] = json!(1);
    tree.write("layer1_problems_report.json", &report);
    api.post(HANDOFFS, package.clone()).await.expect_error(409, "iteration_changed");
    tree.write("layer1_problems_report.json", &tree.report);
    api.post(HANDOFFS, package.clone()).await.expect(201);
    // The same for the files of a sample.
    tree.write("execution_traces/S001_trace.json", &json!({ "sample_id": "S001", "rewritten": true }));
    api.post(HANDOFFS, package).await.expect_error(409, "iteration_changed");
    let next = Tree::of(&api, "out/iteration_2", 2);
    api.post(HANDOFFS, next.package()).await.expect(201);
}

async fn design_files_are_asked_for_only_where_the_gate_is_strict(api: Api) {
    let sent = api.post(HANDOFFS, design()).await.expect(201);
    assert!(sent["warnings"].to_string().contains("rules.md"), "{sent}");
    let strict = format!("{HANDOFFS}?gate=strict");
    api.post(&strict, design()).await.expect_error(422, "persistence_incomplete");
    std::fs::write(api.workspace().join("rules.md"), "# Rules").unwrap();
    api.post(&strict, design()).await.expect(201);
    api.post(&format!("{HANDOFFS}?gate=loose"), design()).await.expect_error(400, "bad_request");
}

async fn further_types_have_a_schema_of_their_own(api: Api) {
    let mut note =
        json!({ "handoff_type": "note", "timestamp": "2026-01-04T10:30:00", "title": "x", "file": "a.md" });
    let refused = api.post(HANDOFFS, note.clone()).await;
    refused.expect_error(400, "invalid_package");
    assert_eq!(refused.json()["error"]["detail"]["field"], "handoff_type");
    let schema =
        json!({ "type": "object", "required": ["title"], "properties": { "title": { "type": "string" } } });
    let kind = json!({ "schema": schema, "path_fields": ["/file"] });
    let path = "/projects/p1/handoff-types/note";
    let (server, admin) = (&api, &api.admin);
    let put = |body: Value| async move { server.with(admin, "PUT", path, &body.to_string()).await };
    put(json!({ "schema": { "type": "nonsense" } })).await.expect(400);
    put(kind).await.expect(201);
    api.post(HANDOFFS, note.clone()).await.expect(201);
    note["title"] = json!(7);
    api.post(HANDOFFS, note.clone()).await.expect_error(400, "invalid_package");
    note["title"] = json!("x");
    note["file"] = json!("../secret");
    api.post(HANDOFFS, note.clone()).await.expect_error(400, "unsafe_path");
    // Another project has types of its own.
    note["file"] = json!("a.md");
    api.post("/projects/p2/handoffs", note).await.expect_error(400, "invalid_package");
    api.with(&api.admin, "PUT", "/projects/p1/handoff-types/init_to_execute", "{\"schema\":{}}")
        .await
        .expect(409);
}

async fn a_project_may_have_a_workspace_of_its_own(api: Api) {
    let settings = json!({ "settings": { "workspace_root": "own" } });
    api.with(&api.admin, "PATCH", "/projects/p2", &settings.to_string()).await.expect(200);
    let tree = Tree::of(&api, "own/out/iteration_1", 1);
    let mut package = tree.package();
    package["execution_output_dir"] = json!("out/iteration_1");
    api.post(HANDOFFS, package.clone()).await.expect_error(422, "persistence_incomplete");
    let sent = api.post("/projects/p2/handoffs", package.clone()).await.expect(201);
    let id = sent["handoff_id"].as_str().unwrap();
    api.post(&format!("/projects/p2/handoffs/{id}:load"), json!({})).await.expect(200);
    api.post("/projects/p2/handoffs:validate", package.clone()).await.expect(200);
    api.post("/handoffs:validate", package.clone()).await.expect_error(422, "persistence_incomplete");
    // A token of one project is not told what is in the workspace of all.
    let token = api.post("/tokens", json!({ "project_id": "p1", "scopes": ["read"] })).await.expect(201);
    let token = token["token"].as_str().unwrap();
    api.with(token, "POST", "/handoffs:validate", &package.to_string()).await.expect(200);
}

async fn files_are_written_once(api: Api) {
    let path = "/projects/p1/workspace/files";
    let files = json!({ "files": [
        { "path": "a/b/text.md", "content": "# 卡片" }, { "path": "a/data.json", "content": { "n": 1 } },
    ] });
    let written = api.post(path, files.clone()).await.expect(201);
    assert_eq!(written["files"][0]["created"], true);
    assert_eq!(std::fs::read_to_string(api.workspace().join("p1/a/b/text.md")).unwrap(), "# 卡片");
    let again = api.post(path, files).await.expect(201);
    assert_eq!(
        (&again["files"][0]["created"], &again["files"][0]["sha256"]),
        (&json!(false), &written["files"][0]["sha256"])
    );
    // One that is there with other bytes, and nothing is written.
    let other =
        json!({ "files": [{ "path": "new.md", "content": "x" }, { "path": "a/b/text.md", "content": "y" }] });
    api.post(path, other).await.expect_error(409, "iteration_changed");
    assert!(!api.workspace().join("p1/new.md").exists());
    let twice = |one: &str, two: &str| json!({ "files": [{ "path": one, "content": "x" }, { "path": two, "content": "y" }] });
    for (one, two) in [("twice.md", "twice.md"), ("twice.md", "twice.md/below"), ("deep/x", "deep")] {
        api.post(path, twice(one, two)).await.expect_error(409, "iteration_changed");
        let own = api.workspace().join("p1");
        assert!(!own.join("twice.md").exists() && !own.join("deep").exists());
    }
    // A workspace of a project's own is made with its first file.
    let settings = json!({ "settings": { "workspace_root": "new/" } });
    api.with(&api.admin, "PATCH", "/projects/p2", &settings.to_string()).await.expect(200);
    let first = json!({ "files": [{ "path": "./first.md", "content": "x" }] });
    api.post("/projects/p2/workspace/files", first).await.expect(201);
    assert!(api.workspace().join("new/first.md").exists());
    let bound = api.post("/tokens", json!({ "project_id": "p2", "scopes": ["admin"] })).await.expect(201);
    let bound = bound["token"].as_str().unwrap();
    api.with(bound, "PATCH", "/projects/p2", &settings.to_string()).await.expect_error(403, "forbidden");
    for wrong in ["../out.md", "/etc/x", "a/./b", "", "a/b/text.md/deeper"] {
        let body = json!({ "files": [{ "path": wrong, "content": "x" }] });
        let status = api.post(path, body).await.status.as_u16();
        assert!((400..500).contains(&status), "{wrong}: {status}");
    }
    let many = |n: usize| json!({ "files": vec![json!({ "path": "same.md", "content": "x" }); n] });
    api.post(path, many(100)).await.expect(201);
    api.post(path, many(101)).await.expect(413);
}

async fn a_package_is_made_of_a_directory(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 3);
    let about = json!({
        "execution_output_dir": "out/iteration_1", "trigger_reason": "too many failures",
        "modification_suggestions_summary": ["a", "b", "c"],
    });
    let made = api.post("/projects/p1/handoffs:pack", about).await.expect(200)["package"].clone();
    assert_eq!(made["failure_samples_index"].as_array().unwrap().len(), 3);
    let sent = api.post(HANDOFFS, made).await.expect(201);
    // Its hashes are noticed at load.
    let id = sent["handoff_id"].as_str().unwrap();
    tree.write("execution_traces/S000_trace.json", &json!({ "changed": true }));
    let wanted = json!({ "mode": "custom", "sample_ids": ["S000"], "parts": ["trace", "evaluation"] });
    let load = api.post(&format!("{HANDOFFS}/{id}:load"), wanted).await.expect(200);
    assert_eq!(load["changed"][0]["part"], "trace", "{load}");
    assert!(load["loaded"].as_array().unwrap().iter().all(|part| part["part"] != "trace"));
}

async fn a_stored_package_does_not_depend_on_what_its_type_has_become(api: Api) {
    let path = "/projects/p1/handoff-types/note";
    api.with(&api.admin, "PUT", path, "{\"schema\":{}}").await.expect(201);
    let note = json!({ "handoff_type": "note", "timestamp": "2026-01-04T10:30:00", "title": 7 });
    let sent = api.post(HANDOFFS, note).await.expect(201);
    let strict = json!({ "schema": { "properties": { "title": { "type": "string" } } } });
    api.with(&api.admin, "PUT", path, &strict.to_string()).await.expect(200);
    let handoff = format!("{HANDOFFS}/{}", sent["handoff_id"].as_str().unwrap());
    assert_eq!(api.get(&handoff).await.expect(200)["package"]["title"], 7);
    api.delete(path).await.expect(204);
    api.get(&handoff).await.expect(200);
    assert_eq!(api.get(HANDOFFS).await.expect(200)["items"].as_array().unwrap().len(), 1);
}

async fn a_repeat_is_answered_as_the_first_time_whatever_became_of_the_files(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 200);
    let bearer = format!("Bearer {}", api.admin);
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
    let body = tree.package().to_string();
    let first = api.request("POST", HANDOFFS, &headers, body.clone()).await;
    first.expect(201);
    tree.remove("samples/S000.json");
    let summary = tree.read("failure_summary.json");
    let again = api.request("POST", HANDOFFS, &headers, body.clone()).await;
    assert_eq!((again.status, again.json()), (first.status, first.json()));
    let other = format!("{HANDOFFS}?handoff_type=execute_to_init");
    api.request("POST", &other, &headers, body).await.expect_error(409, "conflict");
    api.request("POST", HANDOFFS, &headers, "{}".to_owned()).await.expect_error(409, "conflict");
    assert_eq!(tree.read("failure_summary.json"), summary, "a refusal leaves no trace on disk");
}

async fn what_cannot_be_kept_as_it_is_is_refused(api: Api) {
    let package = design().to_string();
    for extra in ["\"x\":1,\"x\":2", "\"x\":123456789012345678901234567890"] {
        let body = format!("{},{extra}}}", package.strip_suffix('}').unwrap());
        api.post_raw(HANDOFFS, &body).await.expect_error(400, "bad_request");
    }
}

async fn first_packages_of_one_iteration_at_once_are_all_accepted(api: Api) {
    let package = Tree::of(&api, "out/iteration_1", 2).package();
    let all = futures_util::future::join_all((0..8).map(|_| api.post(HANDOFFS, package.clone()))).await;
    for reply in all {
        reply.expect(201);
    }
}
