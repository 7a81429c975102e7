//! The collector over HTTP (SPEC.md, Collector).

use crate::support::{Api, BrokenEmbedder, names, on_sqlite};
use cardwire_kernel::ContextConfig;
use serde_json::{Value, json};
use std::sync::Arc;

on_sqlite! {
    cc_01_every_key_is_a_block_and_nothing_is_written;
    cc_02_blocks_with_nothing_in_them_are_absent;
    cc_03_the_system_prompt_is_no_block;
    cc_05_the_todo_block_is_read_leniently_and_can_be_given;
    cc_06_the_compression_block_is_the_persisted_field;
    cc_07_a_wrong_setting_is_told_and_a_failure_survived;
    cc_08_the_switch_takes_every_shared_block_away;
    cc_09_each_process_is_shown_its_own_blocks;
    cc_10_nobody_passes_text_of_their_own;
    bad_collections_are_refused;
}

/// A session that has something for every block.
async fn everything(api: &Api) {
    api.document("boats.md", "# Boats\n\nA red boat sails.").await;
    let past = "/projects/p1/sessions/past/experience";
    api.post(past, json!({ "goal": "sail the red boat", "outcome": "success" })).await.expect(200);
    assert_eq!(api.post(&format!("{past}:save"), json!({})).await.expect(200)["saved"], true);
    api.patch(
        "s",
        json!({
            "messages": { "append": [{ "role": "human", "content": "tell me of the red boat" }] },
            "todo": { "plan": { "op": "add", "items": ["look"] } },
            "set": { "compression__context": "before" },
        }),
    )
    .await
    .expect(200);
}

fn keys(collected: &Value) -> Vec<&str> {
    collected["contexts"].as_object().unwrap().keys().map(String::as_str).collect()
}

const ALL: [&str; 5] = [
    "compression__context",
    "experience__context",
    "framework__context",
    "knowledge__context",
    "todo__context",
];

async fn cc_01_every_key_is_a_block_and_nothing_is_written(api: Api) {
    everything(&api).await;
    let before = (api.session("s").await, api.everything().await);
    let reader = api.token(json!({ "project_id": "p1", "scopes": ["read"] })).await;
    let body = json!({ "contexts": { "mine__context": "given" } }).to_string();
    let path = "/projects/p1/sessions/s/context:collect";
    let collected = api.with(&reader, "POST", path, &body).await.expect(200);
    let mut expected = ALL.to_vec();
    expected.insert(4, "mine__context");
    assert_eq!(keys(&collected), expected);
    assert!(collected.get("messages").is_none());
    assert_eq!(collected["warnings"], json!([]));
    assert_eq!((api.session("s").await, api.everything().await), before, "nothing was written");
}

async fn cc_02_blocks_with_nothing_in_them_are_absent(api: Api) {
    let collected = api.collect("s", json!({})).await.expect(200);
    assert_eq!(keys(&collected), ["framework__context"]);
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    let given = json!({ "contexts": { "framework__context": " \n", "mine__context": "" } });
    assert_eq!(keys(&api.collect("s", given).await.expect(200)), [""; 0]);
    // Nor is an agent told of tools that its profile does not allow.
    let profile =
        json!({ "worker_target": "w1", "system_prompt": "x", "allowed_tools": ["look"] }).to_string();
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Bare", &profile).await.expect(201);
    api.post("/projects/p1/agents", json!({ "agent_id": "bare", "profile_name": "Bare" })).await.expect(201);
    assert_eq!(keys(&api.collect("s", json!({ "agent_id": "bare" })).await.expect(200)), [""; 0]);
}

async fn cc_03_the_system_prompt_is_no_block(api: Api) {
    for share in [true, false] {
        let body = json!({ "contexts": { "system_prompt__context": "x" }, "enable_share_context": share });
        names(&api.collect("s", body).await, "invalid_context_key", "contexts/system_prompt__context");
    }
    for key in ["todo_context", "__context", "x"] {
        let reply = api.collect("s", json!({ "contexts": { key: "x" } })).await;
        names(&reply, "invalid_context_key", &format!("contexts/{key}"));
    }
    api.agent("a1").await;
    let collected = api.collect("s", json!({ "agent_id": "a1" })).await.expect(200);
    assert!(!collected.to_string().contains("Help."), "{collected}");
}

async fn cc_05_the_todo_block_is_read_leniently_and_can_be_given(api: Api) {
    api.patch("s", json!({ "set": { "todo": "scribbles" } })).await.expect(200);
    let collected = api.collect("s", json!({})).await.expect(200);
    assert!(collected["contexts"].get("todo__context").is_none());
    let warning = collected["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("todo__context"), "{warning}");
    api.patch("s", json!({ "set": { "assigned_task": " look it up\n" } })).await.expect(200);
    let assigned = "# Todo Context\n\n## Assigned Task\nlook it up";
    assert_eq!(api.contexts("s").await["todo__context"], assigned);
    api.patch("s", json!({ "set": { "todo": null } })).await.expect(200);
    let collected = api.collect("s", json!({})).await.expect(200);
    assert_eq!(
        (&collected["contexts"]["todo__context"], &collected["warnings"]),
        (&json!(assigned), &json!([]))
    );
    api.patch("s", json!({ "todo": { "plan": { "op": "add", "items": ["write"] } } })).await.expect(200);
    let block = api.contexts("s").await["todo__context"].as_str().unwrap().to_owned();
    assert!(block.contains("[t1] write") && !block.contains("look it up"), "{block}");
    let given = api.collect("s", json!({ "contexts": { "todo__context": "mine" } })).await.expect(200);
    assert_eq!(given["contexts"]["todo__context"], "mine");
    assert_eq!(api.contexts("s").await["todo__context"], json!(block), "for that call only");
}

/// CC-06
async fn cc_06_the_compression_block_is_the_persisted_field(api: Api) {
    api.patch("s", json!({ "set": { "compression__context": "before" } })).await.expect(200);
    assert_eq!(api.contexts("s").await["compression__context"], "before");
    api.patch("s", json!({ "set": { "compression__context": null } })).await.expect(200);
    assert!(api.contexts("s").await.get("compression__context").is_none());
}

async fn cc_07_a_wrong_setting_is_told_and_a_failure_survived(api: Api) {
    everything(&api).await;
    for setting in ["method", "format", "inject_mode"] {
        api.settle(json!({ "knowledge": { setting: "magic" } })).await;
        let reply = api.collect("s", json!({})).await;
        reply.expect_error(400, "bad_request");
        let said = reply.json()["error"]["detail"]["field"].as_str().unwrap().to_owned();
        assert_eq!(said, setting, "by the name that it was given");
        api.settle(json!({ "knowledge": { setting: null } })).await;
    }
    // Hybrid search without anybody to embed would quietly find less.
    api.settle(json!({ "knowledge": { "method": "hybrid" } })).await;
    api.collect("s", json!({})).await.expect_error(400, "bad_request");
    let broken =
        api.again(ContextConfig { embedder: Some(Arc::new(BrokenEmbedder)), ..ContextConfig::default() });
    let collected = broken.collect("s", json!({})).await.expect(200);
    assert_eq!(keys(&collected), ["compression__context", "framework__context", "todo__context"]);
    let warnings: Vec<_> =
        collected["warnings"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(warnings.len(), 2);
    assert!(warnings.iter().all(|warning| warning.contains("out of order")), "{warnings:?}");
}

async fn cc_08_the_switch_takes_every_shared_block_away(api: Api) {
    everything(&api).await;
    for process in ["sequential", "dynamic", "hierarchical", "react", "agent"] {
        let body = |share: bool| json!({ "process": process, "enable_share_context": share });
        assert_eq!(keys(&api.collect("s", body(true)).await.expect(200)), ALL, "{process}");
        assert_eq!(keys(&api.collect("s", body(false)).await.expect(200)), [""; 0], "{process}");
    }
    assert_eq!(keys(&api.collect("s", json!({})).await.expect(200)), ALL, "true when absent");
}

async fn cc_09_each_process_is_shown_its_own_blocks(api: Api) {
    everything(&api).await;
    let worker = vec!["framework__context", "knowledge__context"];
    // Planners and reducers call no tools, so that there is nothing to explain to them.
    let others = vec!["experience__context", "knowledge__context"];
    for (process, share, expected) in [
        ("map_reduce_worker", true, worker.clone()),
        ("map_reduce_worker", false, worker.clone()),
        ("map_reduce", false, worker),
        ("map_reduce_planner", true, others.clone()),
        ("map_reduce_planner", false, vec![]),
        ("map_reduce_reducer", true, others),
        ("map_reduce_reducer", false, vec![]),
    ] {
        let body = json!({ "process": process, "enable_share_context": share });
        assert_eq!(keys(&api.collect("s", body).await.expect(200)), expected, "{process} {share}");
    }
    // KN-01: who cannot search is given the block, whatever the mode.
    api.settle(json!({ "knowledge": { "inject_mode": "tool" } })).await;
    assert!(!keys(&api.collect("s", json!({})).await.expect(200)).contains(&"knowledge__context"));
    let reducer = api.collect("s", json!({ "process": "map_reduce_reducer" })).await.expect(200);
    assert!(keys(&reducer).contains(&"knowledge__context"));
}

async fn cc_10_nobody_passes_text_of_their_own(api: Api) {
    for field in ["system_prompt", "extra_system_text", "messages", "prompt"] {
        names(&api.collect("s", json!({ field: "obey" })).await, "bad_request", field);
    }
}

async fn bad_collections_are_refused(api: Api) {
    for (body, field) in [
        (json!({ "process": "waterfall" }), "process"),
        (json!({ "process": 7 }), "process"),
        (json!({ "agent_id": "a b" }), "agent_id"),
        (json!({ "enable_share_context": "no" }), "enable_share_context"),
        (json!({ "query": 7 }), "query"),
        (json!({ "contexts": { "todo__context": 7 } }), "contexts/todo__context"),
        (json!({ "contexts": "x" }), "contexts"),
    ] {
        names(&api.collect("s", body).await, "bad_request", field);
    }
    api.collect("s", json!({ "agent_id": "nobody" })).await.expect_error(404, "not_found");
}
