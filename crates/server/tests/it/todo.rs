//! The todo list of a session, and the block it becomes (SPEC.md, Todo).

use crate::support::{Api, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    td_01_the_list_is_a_snapshot;
    td_02_plans_are_added_removed_and_replaced;
    td_03_what_has_ended_is_pruned;
    td_04_what_cannot_be_read_is_skipped;
    td_05_the_block_byte_for_byte;
}

async fn todo(api: &Api, payload: Value) -> Value {
    api.patch("s", json!({ "todo": payload })).await.expect(200)["todo"].clone()
}

fn plan(op: &str, items: &[&str]) -> Value {
    json!({ "plan": { "op": op, "items": items } })
}

fn done(id: &str, status: &str) -> Value {
    json!({ "updates": [{ "id": id, "status": status }] })
}

fn items(todo: &Value) -> Vec<(&str, &str, &str)> {
    let items = todo["items"].as_array().map_or(&[][..], Vec::as_slice);
    items
        .iter()
        .map(|item| {
            (
                item["id"].as_str().unwrap(),
                item["description"].as_str().unwrap(),
                item["status"].as_str().unwrap(),
            )
        })
        .collect()
}

async fn td_01_the_list_is_a_snapshot(api: Api) {
    let goal = json!({ "plan": { "op": "add", "items": ["write", "test"], "goal": "ship" } });
    let mut list = todo(&api, goal).await;
    assert!(list["updated_at_ms"].as_i64().unwrap() > 0);
    list["updated_at_ms"] = json!(0);
    assert_eq!(
        list,
        json!({
            "session_id": "s", "goal": "ship", "next_item_id": 3, "updated_at_ms": 0,
            "items": [
                { "id": "t1", "description": "write", "status": "pending" },
                { "id": "t2", "description": "test", "status": "pending" },
            ],
        })
    );
    let with_result =
        todo(&api, json!({ "updates": [{ "id": "t2", "status": "running", "result": "half" }] })).await;
    let expected = json!({ "id": "t2", "description": "test", "status": "running", "result": "half" });
    assert_eq!(with_result["items"][1], expected);
}

async fn td_02_plans_are_added_removed_and_replaced(api: Api) {
    todo(&api, plan("add", &["a", " ", "b", ""])).await;
    todo(&api, plan("remove", &["t2", "t9"])).await;
    let list = todo(&api, plan("add", &["c"])).await;
    assert_eq!(items(&list), [("t1", "a", "pending"), ("t3", "c", "pending")], "no number is used again");
    let list = todo(&api, plan("replace", &["x", "y"])).await;
    assert_eq!(items(&list), [("t1", "x", "pending"), ("t2", "y", "pending")], "a new plan is numbered anew");
    assert_eq!(todo(&api, plan("replace", &[])).await, json!(null));
    assert!(api.contexts("s").await.get("todo__context").is_none());
}

async fn td_03_what_has_ended_is_pruned(api: Api) {
    todo(&api, plan("add", &["a", "b", "c", "d", "e"])).await;
    assert_eq!(items(&todo(&api, done("t9", "completed")).await).len(), 5, "an unknown id is ignored");
    let mut left = 5;
    for (id, status) in [("t1", "completed"), ("t2", "failed"), ("t3", "skipped"), ("t4", "aborted")] {
        left -= 1;
        assert_eq!(items(&todo(&api, done(id, status)).await).len(), left, "{status}");
    }
    assert_eq!(items(&todo(&api, done("t5", "running")).await), [("t5", "e", "running")]);
    assert_eq!(todo(&api, done("t5", "completed")).await, json!(null), "nothing is left of it");
    assert_eq!(items(&todo(&api, plan("add", &["f"])).await), [("t1", "f", "pending")]);
}

async fn td_04_what_cannot_be_read_is_skipped(api: Api) {
    let before = todo(&api, plan("add", &["a"])).await;
    for bad in [
        json!({}),
        json!({ "plan": "x", "updates": "y" }),
        json!({ "plan": { "op": "explode", "items": ["b"] } }),
        json!({ "plan": { "op": "add", "items": [7, null, {}] } }),
        json!({ "updates": [7, { "id": 5 }, { "id": "t1", "status": "odd" }, null] }),
        json!({ "anything": ["else"] }),
    ] {
        let patched =
            api.patch("s", json!({ "todo": bad, "set": { "goal": bad.to_string() } })).await.expect(200);
        assert_eq!((&patched["todo"], &patched["goal"]), (&before, &json!(bad.to_string())), "{bad}");
    }
}

async fn td_05_the_block_byte_for_byte(api: Api) {
    let block = async || api.contexts("s").await.get("todo__context").cloned();
    assert_eq!(block().await, None);
    todo(&api, json!({ "plan": { "op": "add", "items": ["write", "test", "tell"], "goal": "ship it" } }))
        .await;
    todo(&api, json!({ "updates": [{ "id": "t2", "status": "running", "result": "half" }] })).await;
    let expected = "# Todo Context\n\n## Team Todo\n- Goal: ship it\n- [pending] [t1] write\n\
                    - [running] [t2] test -> half\n- [pending] [t3] tell\n\n## Current Focus\n[t1] write";
    assert_eq!(block().await, Some(json!(expected)));
    todo(&api, plan("replace", &["alone"])).await;
    todo(&api, json!({ "plan": { "op": "add", "items": [], "goal": "" }, "updates": [{ "id": "t1", "status": "running" }] })).await;
    assert_eq!(block().await, Some(json!("# Todo Context\n\n## Team Todo\n- [running] [t1] alone")));
    todo(&api, plan("replace", &[])).await;
    assert_eq!(block().await, None);
}
