//! What a load gives, under its budget (LD-01..LD-09).

use super::{HANDOFFS, Tree};
use crate::support::{Api, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    /// LD-01, LD-03
    the_reader_says_how_deep_to_look;
    /// LD-02, LD-04, LD-05
    a_load_stays_within_its_budget_and_says_what_it_left_out;
    /// LD-07, LD-08, LD-09
    files_that_are_gone_or_broken_are_told_and_the_rest_is_loaded;
    /// LD-01, LD-02
    a_wrong_request_is_refused;
}

async fn sent(api: &Api, tree: &Tree) -> String {
    let sent = api.post(HANDOFFS, tree.package()).await.expect(201);
    format!("{HANDOFFS}/{}:load", sent["handoff_id"].as_str().unwrap())
}

/// Parts in the order in which they were loaded.
fn parts(load: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let loaded = load["loaded"].as_array().unwrap();
    loaded.iter().map(|part| (text(&part["sample_id"]), text(&part["part"]))).collect()
}

async fn the_reader_says_how_deep_to_look(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 4);
    let load = sent(&api, &tree).await;
    let report = api.post_raw(&load, "").await.expect(200);
    assert_eq!(parts(&report), [("-".to_owned(), "report".to_owned())]);
    assert_eq!((&report["budget"], &report["loaded"][0]["content"]), (&json!(40_000), &tree.report));
    let typical = api.post(&load, json!({ "mode": "typical" })).await.expect(200);
    assert!(parts(&typical)[1..].iter().all(|(sample, _)| sample == "S000"), "{typical}");
    let full = api.post(&load, json!({ "mode": "full" })).await.expect(200);
    let mut samples: Vec<String> = parts(&full)[1..].iter().map(|(sample, _)| sample.clone()).collect();
    samples.dedup();
    // The typical case, then high, medium and low.
    assert_eq!(samples, ["S000", "S002", "S001", "S003"]);
    let custom = json!({ "mode": "custom", "sample_ids": ["S003"], "parts": ["attribution"] });
    let custom = api.post(&load, custom).await.expect(200);
    assert!(parts(&custom).contains(&("S003".to_owned(), "attribution".to_owned())), "{custom}");
    assert!(parts(&custom).iter().all(|(sample, _)| sample == "S003" || sample == "-"), "{custom}");
    // NF-11
    let again = api.post(&load, json!({ "mode": "full" })).await;
    assert_eq!(again.expect(200), full);
}

async fn a_load_stays_within_its_budget_and_says_what_it_left_out(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 6);
    let turns: Vec<Value> = (0..200)
        .map(|n| json!({ "role": "user", "content": format!("turn {n} {}", "卡".repeat(40)) }))
        .collect();
    tree.write("execution_traces/S000_trace.json", &json!({ "conversation_history": turns }));
    let before = tree.read("execution_traces/S000_trace.json");
    let load = sent(&api, &tree).await;
    for budget in [1, 50, 400, 900, 2_000, 40_000] {
        let got = api.post(&load, json!({ "mode": "full", "budget": budget })).await.expect(200);
        let used: u64 = got["loaded"].as_array().unwrap().iter().map(|p| p["tokens"].as_u64().unwrap()).sum();
        assert_eq!(got["used"], json!(used));
        assert!(used <= budget, "{used} > {budget}");
        let left = got["omitted"].as_array().unwrap().len() + got["truncated"].as_array().unwrap().len();
        assert_eq!(left == 0, budget == 40_000, "{budget}: {}", got["truncated"]);
    }
    let short = api.post(&load, json!({ "mode": "typical", "budget": 2_000 })).await.expect(200);
    let trace = short["loaded"].as_array().unwrap().iter().find(|part| part["part"] == "trace").unwrap();
    assert_eq!(trace["truncated"], true);
    let kept = trace["content"]["conversation_history"].as_array().unwrap();
    assert!(kept.iter().any(|turn| turn["omitted_turns"].is_u64()), "{trace}");
    assert_eq!((&kept[0], kept.last()), (&turns[0], turns.last()));
    assert!(kept.contains(&turns[3]), "what the attribution names is kept");
    assert_eq!(tree.read("execution_traces/S000_trace.json"), before, "files are never changed");
    let soft = api.post(&load, json!({ "budget": 1, "hard": false })).await.expect(200);
    assert_eq!((&soft["over_budget"], &soft["loaded"][0]["content"]), (&json!(true), &tree.report));
}

async fn files_that_are_gone_or_broken_are_told_and_the_rest_is_loaded(api: Api) {
    let tree = Tree::of(&api, "out/iteration_1", 2);
    let load = sent(&api, &tree).await;
    tree.remove("evaluation_results/S000_eval.json");
    std::fs::write(tree.path("samples/S001.json"), "{ half").unwrap();
    let handoff = load.strip_suffix(":load").unwrap();
    api.get(handoff).await.expect(200);
    let got = api.post(&load, json!({ "mode": "full" })).await.expect(200);
    assert_eq!(
        (&got["missing"][0]["sample_id"], &got["missing"][0]["part"]),
        (&json!("S000"), &json!("evaluation"))
    );
    assert_eq!(got["invalid"][0]["sample_id"], "S001");
    assert!(got["invalid"][0]["path"].as_str().unwrap().ends_with("samples/S001.json"));
    assert!(got["invalid"][0]["error"].is_string());
    assert_eq!(got["loaded"].as_array().unwrap().len(), 1 + 6);
    std::fs::write(tree.path("layer1_problems_report.json"), "{ half").unwrap();
    api.post(&load, json!({})).await.expect_error(422, "invalid_report");
    tree.remove("layer1_problems_report.json");
    api.post(&load, json!({})).await.expect_error(404, "report_not_found");
    api.get(handoff).await.expect(200);
}

async fn a_wrong_request_is_refused(api: Api) {
    let load = sent(&api, &Tree::of(&api, "out/iteration_1", 2)).await;
    for (wrong, status, field) in [
        (json!({ "mode": "deep" }), 400, "mode"),
        (json!({ "budget": 0 }), 400, "budget"),
        (json!({ "budget": -1 }), 400, "budget"),
        (json!({ "budget": 1_000_001 }), 400, "budget"),
        (json!({ "budget": "much" }), 400, "budget"),
        (json!({ "mode": "custom", "sample_ids": ["S000"], "parts": ["soul"] }), 400, "parts"),
        (json!({ "mode": "custom", "sample_ids": ["S9"] }), 404, "S9"),
        (json!({ "mode": "custom" }), 400, "sample_ids"),
        (json!({ "depth": 1 }), 400, "depth"),
    ] {
        let refused = api.post(&load, wrong).await;
        assert!(refused.expect(status).to_string().contains(field), "{}", refused.json());
    }
    api.post(&load, json!({ "budget": 1_000_000 })).await.expect(200);
    api.post(&format!("{HANDOFFS}/ho_none:load"), json!({})).await.expect_error(404, "not_found");
    let most = |n: usize| json!({ "mode": "custom", "sample_ids": vec!["S000"; n] });
    api.post(&load, most(1_000)).await.expect(200);
    api.post(&load, most(1_001)).await.expect(413);
}
