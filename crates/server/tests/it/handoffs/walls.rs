//! Files have walls: a project reaches its own directory and no other (F-40, HO-10, SEC-06).

use super::{HANDOFFS, Tree, design};
use crate::support::{Api, on_both, on_sqlite};
use cardwire_kernel::protocol::{
    Actor, Fresh, Moment,
    handoff::{self, Accept, Told},
};
use cardwire_model::{BoxId, CanonicalJson, CardDraft, Origin, Snapshot};
use serde_json::{Value, json};
use std::sync::Arc;

on_both! {
    a_project_without_a_root_has_a_directory_of_its_name_and_reaches_no_other;
    who_sees_all_projects_hands_over_files_of_the_shared_root_but_none_of_another_project;
}

on_sqlite! {
    only_who_sees_all_projects_says_where_the_files_of_a_project_are;
    a_link_in_place_of_a_projects_directory_leads_nowhere;
    a_package_of_before_projects_had_directories_is_still_loaded;
}

const FILES: [&str; 2] = ["/projects/p1/workspace/files", "/projects/p2/workspace/files"];

fn file(path: &str, content: &str) -> String {
    json!({ "files": [{ "path": path, "content": content }] }).to_string()
}

/// A token of each project that may do everything there.
async fn tokens(api: &Api) -> [String; 2] {
    let token = async |project: &str| api.token(json!({ "project_id": project, "scopes": ["admin"] })).await;
    [token("p1").await, token("p2").await]
}

async fn a_project_without_a_root_has_a_directory_of_its_name_and_reaches_no_other(api: Api) {
    let [one, two] = tokens(&api).await;
    // Both write the same path, and neither is told of the other's file.
    for (token, route, content) in [(&one, FILES[0], "of p1"), (&two, FILES[1], "of p2")] {
        api.with(token, "POST", route, &file("notes/a.md", content)).await.expect(201);
    }
    for project in ["p1", "p2"] {
        let text = std::fs::read_to_string(api.workspace().join(project).join("notes/a.md")).unwrap();
        assert_eq!(text, format!("of {project}"));
    }
    // A path that names the other's directory stays within one's own.
    api.with(&one, "POST", FILES[0], &file("p2/notes/a.md", "x")).await.expect(201);
    assert_eq!(std::fs::read_to_string(api.workspace().join("p2/notes/a.md")).unwrap(), "of p2");
    assert!(api.workspace().join("p1/p2/notes/a.md").exists());
    api.with(&one, "POST", FILES[0], &file("../p2/notes/b.md", "x")).await.expect_error(400, "unsafe_path");

    let tree = Tree::of(&api, "p2/out/iteration_1", 1);
    let mut package = tree.package();
    let pack = json!({ "execution_output_dir": "p2/out/iteration_1" }).to_string();
    for route in ["handoffs", "handoffs:validate"] {
        let refused = api.with(&one, "POST", &format!("/projects/p1/{route}"), &package.to_string()).await;
        refused.expect_error(422, "persistence_incomplete");
    }
    let packed = api.with(&one, "POST", "/projects/p1/handoffs:pack", &pack).await;
    assert!(packed.status.is_client_error(), "{}", packed.json());
    package["execution_output_dir"] = json!("../p2/out/iteration_1");
    api.with(&one, "POST", HANDOFFS, &package.to_string()).await.expect_error(400, "unsafe_path");
    package["execution_output_dir"] = json!("out/iteration_1");
    api.with(&one, "POST", HANDOFFS, &package.to_string()).await.expect_error(422, "persistence_incomplete");
    api.with(&two, "POST", "/projects/p2/handoffs", &package.to_string()).await.expect(201);
    // A design whose files are another's is one whose files are missing.
    api.with(&two, "POST", FILES[1], &file("rules.md", "of p2")).await.expect(201);
    let mut stolen = design();
    stolen["design_artifacts"]["business_rules_path"] = json!("p2/rules.md");
    let strict = format!("{HANDOFFS}?gate=strict");
    api.with(&one, "POST", &strict, &stolen.to_string()).await.expect_error(422, "persistence_incomplete");
}

/// What the specification says of `--workspace-root` holds for those who see all projects.
async fn who_sees_all_projects_hands_over_files_of_the_shared_root_but_none_of_another_project(api: Api) {
    let [one, _] = tokens(&api).await;
    let package = Tree::of(&api, "out/iteration_1", 1).package();
    api.with(&one, "POST", HANDOFFS, &package.to_string()).await.expect_error(422, "persistence_incomplete");
    // Nor in the name of an agent.
    api.profile("p1").await;
    api.running("init").await;
    let by_agent = format!("{HANDOFFS}?agent_id=init");
    api.post(&by_agent, package.clone()).await.expect_error(422, "persistence_incomplete");
    let worker = api.kernel.worker_secret();
    api.with(worker.expose(), "POST", HANDOFFS, &package.to_string())
        .await
        .expect_error(422, "persistence_incomplete");
    let operator = api.token(json!({ "scopes": ["work"] })).await;
    let validate = "/projects/p1/handoffs:validate";
    api.with(&operator, "POST", validate, &package.to_string()).await.expect(200);
    let sent = api.post(HANDOFFS, package).await.expect(201);
    let load = format!("{HANDOFFS}/{}:load", sent["handoff_id"].as_str().unwrap());
    let got = api.with(&one, "POST", &load, r#"{"mode":"full"}"#).await.expect(200);
    assert_eq!(
        got["loaded"].as_array().unwrap().len(),
        1 + 4,
        "what was handed over is read by its receiver"
    );

    // Files of another project are not handed over by mistake, wherever they are and whatever became of the project.
    let settings = json!({ "settings": { "workspace_root": "teams/two" } }).to_string();
    api.post("/projects", json!({ "project_id": "p3" })).await.expect(201);
    for (dir, prepare) in
        [("p2/out/iteration_2", false), ("teams/two/iteration_3", true), ("p3/iteration_4", false)]
    {
        if prepare {
            api.with(&api.admin, "PATCH", "/projects/p2", &settings).await.expect(200);
        }
        if dir.starts_with("p3") {
            api.delete("/projects/p3").await.expect(204);
        }
        let package = Tree::of(&api, dir, 1).package();
        api.post("/handoffs:validate", package.clone()).await.expect(200);
        for route in [HANDOFFS, "/projects/p1/handoffs:validate"] {
            api.post(route, package.clone()).await.expect_error(422, "persistence_incomplete");
        }
    }
    // The project's own directory comes first.
    let tree = Tree::of(&api, "p1/out/iteration_5", 1);
    Tree::of(&api, "out/iteration_5", 2);
    let mut package = tree.package();
    package["execution_output_dir"] = json!("out/iteration_5");
    let sent = api.post(HANDOFFS, package).await.expect(201);
    let card =
        api.get(&format!("/projects/p1/cards/{}", sent["card_id"].as_str().unwrap())).await.expect(200);
    assert_eq!(card["metadata"]["in_shared_root"], false);
}

async fn only_who_sees_all_projects_says_where_the_files_of_a_project_are(api: Api) {
    let [one, _] = tokens(&api).await;
    for root in ["p2", "shared", "p1/below", "../p2"] {
        let settings = json!({ "settings": { "workspace_root": root } }).to_string();
        api.with(&one, "PATCH", "/projects/p1", &settings).await.expect_error(403, "forbidden");
    }
    let settings = json!({ "settings": { "workspace_root": "shared" } }).to_string();
    api.with(&api.admin, "PATCH", "/projects/p1", &settings).await.expect(200);
    api.with(&one, "POST", FILES[0], &file("a.md", "x")).await.expect(201);
    assert!(api.workspace().join("shared/a.md").exists());
    let reset = json!({ "settings": { "workspace_root": null } }).to_string();
    api.with(&one, "PATCH", "/projects/p1", &reset).await.expect_error(403, "forbidden");
}

async fn a_link_in_place_of_a_projects_directory_leads_nowhere(api: Api) {
    let [one, two] = tokens(&api).await;
    api.with(&two, "POST", FILES[1], &file("a.md", "of p2")).await.expect(201);
    std::os::unix::fs::symlink(api.workspace().join("p2"), api.workspace().join("p1")).unwrap();
    let refused = api.with(&one, "POST", FILES[0], &file("b.md", "x")).await;
    refused.expect_error(400, "unsafe_path");
    assert!(!api.workspace().join("p2/b.md").exists());
    let mut stolen = design();
    stolen["design_artifacts"]["business_rules_path"] = json!("a.md");
    let strict = format!("{HANDOFFS}?gate=strict");
    api.with(&one, "POST", &strict, &stolen.to_string()).await.expect_error(400, "unsafe_path");
}

async fn a_package_of_before_projects_had_directories_is_still_loaded(api: Api) {
    let [one, _] = tokens(&api).await;
    let tree = Tree::of(&api, "out/iteration_1", 1);
    let id = accepted_before(&api, tree.package()).await;
    let load = format!("{HANDOFFS}/{id}:load");
    let full = async || api.with(&one, "POST", &load, r#"{"mode":"full"}"#).await.expect(200);
    let got = full().await;
    assert_eq!(got["loaded"].as_array().unwrap().len(), 1 + 4);
    // Its files may be moved to where they belong.
    std::fs::create_dir(api.workspace().join("p1")).unwrap();
    std::fs::rename(api.workspace().join("out"), api.workspace().join("p1/out")).unwrap();
    assert_eq!(full().await, got);
    // One that tells of another project's files is not.
    let id = accepted_before(&api, Tree::of(&api, "p2/out/iteration_2", 1).package()).await;
    let load = format!("{HANDOFFS}/{id}:load");
    api.with(&one, "POST", &load, "").await.expect_error(404, "report_not_found");
}

/// A package as it was kept before its card said where its files are, and what they are.
async fn accepted_before(api: &Api, package: Value) -> String {
    let kernel = Arc::clone(&api.kernel);
    let (id, box_id) =
        (format!("ho_{}", kernel.ids().uuid().simple()), BoxId::from_uuid(kernel.ids().uuid()));
    let metadata = json!({
        "type": "handoff.package", "role": "user", "handoff_id": id, "box_id": box_id.to_string(),
        "file_bytes": {},
    });
    let mut package = package;
    package["version"] = json!("2.0");
    package["metadata"] = json!({});
    let draft = CardDraft {
        content: CanonicalJson::from_value(&package).unwrap(),
        metadata: CanonicalJson::from_value(&metadata).unwrap(),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    };
    let now = kernel.now();
    let card = draft.into_card(kernel.card_id(), Origin::Operator, now).unwrap();
    let told = Told { card, files: vec![] };
    let command = Accept { id: id.parse().unwrap(), told, box_id, iteration: None, sender: None };
    let moment = Moment { now, actor: Actor::system("test"), fresh: Fresh::new(move || kernel.ids().uuid()) };
    let decision = handoff::decide(&Snapshot::default(), &"p1".parse().unwrap(), &command, &moment).unwrap();
    api.store.commit(decision.commit).await.unwrap();
    id
}
