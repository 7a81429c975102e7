//! Files that are rewritten after a package of them was accepted (F-20, HO-11, LD-08).

use super::{HANDOFFS, Tree};
use crate::support::{Api, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    a_file_that_is_rewritten_after_acceptance_is_told_and_not_loaded;
}

on_sqlite! {
    a_rewritten_report_is_refused;
    a_package_of_files_that_were_rewritten_is_refused_though_they_are_as_long_as_before;
    every_sample_of_a_shortened_index_is_guarded;
}

const TRACE: &str = "execution_traces/S000_trace.json";

/// A part of the same length as before.
fn rewrite(tree: &Tree, file: &str) -> Value {
    let text = tree.read(file).to_string();
    let other: Value = serde_json::from_str(&text.replace("turn 0", "evil 0")).unwrap();
    assert_ne!(tree.read(file), other);
    tree.write(file, &other);
    other
}

async fn a_file_that_is_rewritten_after_acceptance_is_told_and_not_loaded(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 2);
    let sent = api.post(HANDOFFS, tree.package()).await.expect(201);
    let (id, before) = (sent["handoff_id"].as_str().unwrap(), tree.read(TRACE));
    let load = format!("{HANDOFFS}/{id}:load");
    let full = async || api.post(&load, json!({ "mode": "full" })).await.expect(200);
    let whole = full().await;
    assert_eq!((&whole["changed"], &whole["invalid"]), (&json!([]), &json!([])));

    rewrite(&tree, TRACE);
    let got = full().await;
    for list in ["invalid", "changed"] {
        let [part] = got[list].as_array().unwrap().as_slice() else { panic!("{got}") };
        assert_eq!((&part["sample_id"], &part["path"]), (&json!("S000"), &json!(TRACE)));
        assert_eq!(part["error"], "has changed since the package was accepted");
    }
    assert!(!got["loaded"].to_string().contains("evil"), "{got}");
    assert_eq!(got["loaded"].as_array().unwrap().len(), whole["loaded"].as_array().unwrap().len() - 1);

    // What was recorded is out of the reach of those who would have it forgotten.
    let card =
        api.get(&format!("/projects/p1/cards/{}", sent["card_id"].as_str().unwrap())).await.expect(200);
    let recorded = card["metadata"]["file_cards"][0].as_str().unwrap();
    api.delete(&format!("/projects/p1/l0/cards/{recorded}")).await.expect(204);
    assert_eq!(full().await["changed"], got["changed"]);

    tree.write(TRACE, &before);
    assert_eq!(full().await, whole, "the file is back");
}

async fn a_rewritten_report_is_refused(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 1);
    let sent = api.post(HANDOFFS, tree.package()).await.expect(201);
    let load = format!("{HANDOFFS}/{}:load", sent["handoff_id"].as_str().unwrap());
    let mut report = tree.report.clone();
    report["layer1_problems"][0]["title"] = json!("u");
    tree.write("layer1_problems_report.json", &report);
    let refused = api.post(&load, json!({})).await;
    refused.expect_error(409, "iteration_changed");
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("layer1_problems_report.json"));
    tree.write("layer1_problems_report.json", &tree.report);
    api.post(&load, json!({})).await.expect(200);
}

async fn a_package_of_files_that_were_rewritten_is_refused_though_they_are_as_long_as_before(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 1);
    api.post(HANDOFFS, tree.package()).await.expect(201);
    let before = tree.read(TRACE);
    rewrite(&tree, TRACE);
    api.post(HANDOFFS, tree.package()).await.expect_error(409, "iteration_changed");
    tree.write(TRACE, &before);
    api.post(HANDOFFS, tree.package()).await.expect(201);
}

async fn every_sample_of_a_shortened_index_is_guarded(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 200);
    let sent = api.post(HANDOFFS, tree.package()).await.expect(201);
    let load = format!("{HANDOFFS}/{}:load", sent["handoff_id"].as_str().unwrap());
    rewrite(&tree, "execution_traces/S198_trace.json");
    let wanted = json!({ "mode": "custom", "sample_ids": ["S198"] });
    let got = api.post(&load, wanted).await.expect(200);
    assert_eq!(
        (got["changed"][0]["part"].as_str(), got["changed"].as_array().unwrap().len()),
        (Some("trace"), 1)
    );
}
