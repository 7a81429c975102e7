//! What is refused before anything is written, with the numbers.

use super::{Api, Reply, batch_of, boss, call, fork, fork_args, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    no_more_turns_are_opened_at_once_than_the_project_may_have;
}

on_sqlite! {
    depth_is_bounded;
    a_branch_must_not_wait_for_its_own_parent;
    a_tree_may_grow_so_large;
    a_project_may_have_so_many_open_turns;
    a_policy_may_be_required;
}

async fn settings(api: &Api, settings: Value) {
    let body = json!({ "settings": settings });
    api.with(&api.admin, "PATCH", "/projects/p1", &body.to_string()).await.expect(200);
}

/// Refused by the dispatcher's own words (PM-11), and nothing but the call and its answer was written.
async fn refused(api: &Api, args: Value, code: &str, numbers: &[&str]) {
    let before =
        (api.items("agents").await.len(), api.items("batches").await.len(), api.items("turns").await.len());
    // PK-21
    let body = json!({ "caller_agent_id": "boss", "args": args });
    let dry = api.post(&format!("{}?dry_run=true", super::FORK), body).await.json();
    assert_eq!(dry["error"]["code"], code, "{dry}");
    let reply: Reply = call(api, args).await;
    let answer = reply.json();
    let (told, message) = if reply.status.is_success() {
        assert_eq!((&answer["status"], &answer["result"]["status"]), (&json!("failed"), &json!("rejected")));
        (answer["result"]["error_code"].clone(), answer["result"]["error"]["message"].to_string())
    } else {
        (answer["error"]["code"].clone(), answer["error"]["message"].to_string())
    };
    assert_eq!(told, code);
    for number in numbers {
        assert!(message.contains(number), "{message}");
    }
    let after =
        (api.items("agents").await.len(), api.items("batches").await.len(), api.items("turns").await.len());
    assert_eq!(after, before);
}

/// DP-04, BM-21
async fn depth_is_bounded(api: Api) {
    boss(&api).await;
    settings(&api, json!({ "max_recursion_depth": 1 })).await;
    refused(&api, fork_args(2, json!({})), "recursion_depth_exceeded", &["depth 1", "limit of 1"]).await;
    // What one task is refused for by itself comes first, whether the fork is made or not.
    let mut args = fork_args(2, json!({}));
    args["tasks"][1]["target_ref"] = json!("Nobody");
    refused(&api, args, "not_found", &["Nobody"]).await;
    settings(&api, json!({ "max_recursion_depth": 2 })).await;
    fork(&api, 2, json!({})).await;
}

async fn a_branch_must_not_wait_for_its_own_parent(api: Api) {
    boss(&api).await;
    let args = json!({ "tasks": [{ "target_strategy": "reuse", "target_ref": "boss", "instruction": "i" }] });
    refused(&api, args, "ancestor_cycle", &["boss", "args.tasks.0"]).await;
    // Nor for its parent's parent.
    let id = batch_of(&fork(&api, 1, json!({})).await);
    let running = super::batch(&api, &id).await;
    let child = super::children(&api, &running).await.remove(0);
    let args = json!({ "tasks": [{ "target_strategy": "reuse", "target_ref": "boss", "instruction": "i" }] });
    let body = json!({ "caller_agent_id": child.agent, "agent_turn_id": child.turn, "args": args });
    let answer = api.with(&child.token, "POST", super::FORK, &body.to_string()).await.json();
    assert_eq!(answer["result"]["error_code"], "ancestor_cycle");
    // Nobody waits for what was delegated, so that may fork whom it likes.
    let args = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x" });
    let body = json!({ "caller_agent_id": "boss", "args": args });
    api.post("/projects/p1/pmo/delegate_async:call", body).await.expect(200);
    let free = api.claim_with(json!({ "start": true })).await.remove(0);
    let args = json!({ "tasks": [{ "target_strategy": "reuse", "target_ref": "boss", "instruction": "i" }] });
    let body = json!({ "caller_agent_id": free.agent, "agent_turn_id": free.turn, "args": args });
    let answer = api.with(&free.token, "POST", super::FORK, &body.to_string()).await.expect(200);
    assert_eq!(answer["result"]["status"], "accepted");
}

async fn a_tree_may_grow_so_large(api: Api) {
    boss(&api).await;
    settings(&api, json!({ "pmo": { "max_tree_turns": 5 } })).await;
    fork(&api, 3, json!({})).await;
    refused(
        &api,
        fork_args(3, json!({})),
        "tree_budget_exceeded",
        &["3 more", "3 were started", "limit is 5"],
    )
    .await;
    fork(&api, 2, json!({})).await;
    let args = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x" });
    let body = json!({ "caller_agent_id": "boss", "args": args });
    let answer = api.post("/projects/p1/pmo/delegate_async:call", body).await.json();
    assert_eq!(answer["result"]["error_code"], "tree_budget_exceeded");
}

async fn a_project_may_have_so_many_open_turns(api: Api) {
    boss(&api).await;
    settings(&api, json!({ "pmo": { "max_open_turns": 4 } })).await;
    refused(
        &api,
        fork_args(4, json!({})),
        "project_budget_exceeded",
        &["4 more", "1 are open", "limit is 4"],
    )
    .await;
    fork(&api, 3, json!({})).await;
}

/// Of many calls at the same moment, as many are accepted as there is room for.
async fn no_more_turns_are_opened_at_once_than_the_project_may_have(api: Api) {
    boss(&api).await;
    settings(&api, json!({ "pmo": { "max_open_turns": 4 } })).await;
    let calls = (0..12).map(|number| {
        let instruction = format!("part {number}");
        let args = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": instruction });
        api.post("/projects/p1/pmo/delegate_async:call", json!({ "caller_agent_id": "boss", "args": args }))
    });
    let replies = futures_util::future::join_all(calls).await;
    let (mut accepted, mut refused) = (0, 0);
    for answer in replies.iter().map(Reply::json) {
        if answer["status"] == "success" {
            accepted += 1;
        } else if answer["result"]["error_code"] == "project_budget_exceeded" {
            refused += 1;
        }
    }
    assert_eq!((accepted, refused), (3, 9));
    assert_eq!(api.items("turns").await.len(), 4);
}

/// PM-14
async fn a_policy_may_be_required(api: Api) {
    boss(&api).await;
    settings(&api, json!({ "delegation": { "require_policy": true } })).await;
    call(&api, fork_args(1, json!({}))).await.expect_error(403, "forbidden");
}
