//! Fencing (DP-17, WD-03, NF-03): whatever the holder of a stale turn says, nothing changes.

use crate::support::{Api, Leased, on_both};
use serde_json::{Value, json};

on_both! {
    a_reaped_turn_changes_nothing;
    a_stopped_turn_changes_nothing;
    a_turn_of_another_epoch_changes_nothing;
    a_finished_turn_changes_nothing_for_its_successor;
}

/// Every verb a holder has, with a body that would have been accepted.
fn verbs() -> Vec<(&'static str, Value)> {
    vec![
        (":start", json!({})),
        (":heartbeat", json!({})),
        ("/cards", json!({ "content": "zombie", "metadata": { "type": "agent.thought" } })),
        ("/cards", json!({ "cards": [{ "content": "zombie", "metadata": { "type": "task.deliverable" } }] })),
        ("/steps", json!({ "phase": "zombie" })),
        ("/calls", json!({ "model": "zombie" })),
        (":suspend", json!({ "waiting_tool_call_ids": ["c1"] })),
        (":finish", json!({ "status": "success", "deliverable": "zombie" })),
        (":release", json!({})),
    ]
}

/// Says everything and compares the whole project before and after.
async fn says_everything_in_vain(api: &Api, stale: &Leased) {
    let before = api.everything().await;
    for (verb, body) in verbs() {
        let reply = api.verb(stale, verb, body).await;
        reply.expect_error(409, "stale_turn");
    }
    api.report(stale, "c1", json!({ "result": "zombie" })).await.expect_error(409, "stale_turn");
    let operator = json!({ "turn_epoch": stale.epoch }).to_string();
    for verb in [":start", ":heartbeat", ":release"] {
        let reply = api.with(&api.admin, "POST", &stale.path(verb), &operator).await;
        reply.expect_error(409, "stale_turn");
    }
    // Nor does whoever may speak for all hand on in the name of a turn that is gone.
    let call = json!({ "caller_agent_id": stale.agent, "agent_turn_id": stale.turn, "turn_epoch": stale.epoch, "args": {
        "target_strategy": "new", "target_ref": "Helper", "instruction": "zombie" } });
    api.post("/projects/p1/pmo/delegate_async:call", call).await.expect_error(409, "stale_turn");
    assert_eq!(api.everything().await, before);
}

/// A running turn with an open tool call.
async fn busy(api: &Api, agent: &str) -> Leased {
    let leased = api.running(agent).await;
    let call = json!({
        "content": "", "metadata": { "type": "agent.thought" },
        "tool_calls": [{ "id": "c1", "function": { "name": "look", "arguments": "{}" } }],
    });
    api.verb(&leased, "/cards", call).await.expect(200);
    leased
}

/// WD-03
async fn a_reaped_turn_changes_nothing(api: Api) {
    let leased = busy(&api, "a1").await;
    assert_eq!(api.tick(301).await, [("reap".to_owned(), leased.turn.clone())]);
    says_everything_in_vain(&api, &leased).await;
    // Nor when somebody else's turn is live by now.
    api.running("a1").await;
    says_everything_in_vain(&api, &leased).await;
}

/// WK-09
async fn a_stopped_turn_changes_nothing(api: Api) {
    let leased = busy(&api, "a1").await;
    api.post(&format!("/projects/p1/turns/{}:stop", leased.turn), json!({})).await.expect(200);
    says_everything_in_vain(&api, &leased).await;
    // Whether or not it says which epoch that was.
    let call = json!({ "caller_agent_id": "a1", "agent_turn_id": leased.turn, "args": {
        "target_strategy": "new", "target_ref": "Helper", "instruction": "zombie" } });
    api.post("/projects/p1/pmo/delegate_async:call", call).await.expect_error(409, "stale_turn");
}

/// DP-17: turn and epoch must both fit.
async fn a_turn_of_another_epoch_changes_nothing(api: Api) {
    let leased = busy(&api, "a1").await;
    for epoch in [0, 2, u64::MAX] {
        says_everything_in_vain(&api, &Leased { epoch, ..leased.clone() }).await;
    }
    api.finish(&leased, "success").await;
}

async fn a_finished_turn_changes_nothing_for_its_successor(api: Api) {
    let leased = busy(&api, "a1").await;
    api.dispatch("a1").await;
    api.finish(&leased, "success").await;
    assert_eq!(api.head("a1").await["turn_epoch"], 2);
    says_everything_in_vain(&api, &leased).await;
}
