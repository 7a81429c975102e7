//! Calling turns off (WK-09, W-06).

use crate::support::{Api, on_sqlite};
use serde_json::json;

on_sqlite! {
    a_live_turn_is_taken_away;
    a_waiting_turn_never_runs;
    a_stop_for_a_later_epoch_is_stale;
    a_turn_nobody_has_claimed_is_stopped_without_a_hint;
}

fn path(turn: &str) -> String {
    format!("/projects/p1/turns/{turn}:stop")
}

/// WK-09, WD-01, NF-04
async fn a_live_turn_is_taken_away(api: Api) {
    let leased = api.running("a1").await;
    let next = api.dispatch("a1").await;
    let body = json!({ "turn_epoch": 1, "reason": "wrong question" });
    let stopped = api.post(&path(&leased.turn), body).await.expect(200);
    assert_eq!(stopped["status"], "stopped");
    let head = api.head("a1").await;
    assert_eq!((&head["turn_epoch"], &head["active_agent_turn_id"]), (&json!(3), &json!(next.id)));
    let turn = api.turn(&leased.turn).await;
    assert_eq!((&turn["status"], &turn["error"]), (&json!("failed"), &json!("stopped")));
    assert_eq!(turn["deliverable_card_id"], stopped["deliverable_card_id"]);
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", leased.output)).await.expect(200);
    let kinds: Vec<_> = cards.as_array().unwrap().iter().map(|card| card["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["agent.error", "task.deliverable"]);
    assert_eq!(cards[0]["content"]["reason"], "wrong question");
    let told = api.told("agent.task").await;
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["status"], &told[0]["error"]), (&json!("failed"), &json!("stopped")));
    // Its worker hears of it; the lease opens nothing.
    let leases = api.claim().await;
    let stop = leases.iter().find(|lease| lease.lease["kind"] == "stop");
    let stop = match stop {
        Some(stop) => stop.clone(),
        // One row per agent and claim.
        None => api.claim().await.remove(0),
    };
    assert_eq!((&stop.turn, stop.epoch), (&leased.turn, 1));
    for absent in ["turn_token", "context_box_id", "output_box_id", "profile_box_id"] {
        assert!(stop.lease.get(absent).is_none(), "{absent}");
    }
    let audit = api.get("/projects/p1/audit?limit=1").await.expect(200);
    assert_eq!(
        (&audit["items"][0]["action"], &audit["items"][0]["subject"]),
        (&json!("turn.stop"), &json!(leased.turn))
    );
    api.post(&path(&leased.turn), json!({})).await.expect_error(409, "stale_turn");
    assert_eq!(api.told("agent.task").await.len(), 1);
}

/// W-06: by turn id, and it does not run afterwards.
async fn a_waiting_turn_never_runs(api: Api) {
    let leased = api.running("a1").await;
    let (second, third) = (api.dispatch("a1").await, api.dispatch("a1").await);
    let late = json!({ "turn_epoch": 99 });
    api.post(&path(&second.id), late).await.expect_error(409, "stale_turn");
    let why = json!({ "turn_epoch": 1, "reason": "superseded" });
    let stopped = api.post(&path(&second.id), why).await.expect(200);
    let audit = api.get("/projects/p1/audit?limit=1").await.expect(200);
    assert_eq!(audit["items"][0]["detail"]["reason"], "superseded");
    assert_eq!(stopped["status"], "stopped");
    let turn = api.turn(&second.id).await;
    assert_eq!((&turn["status"], &turn["turn_epoch"]), (&json!("failed"), &serde_json::Value::Null));
    // WK-06, WK-09
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", second.output)).await.expect(200);
    let kinds: Vec<_> = cards.as_array().unwrap().iter().map(|card| card["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["agent.error", "task.deliverable"]);
    assert_eq!(cards[0]["content"]["reason"], "superseded");
    assert_eq!(cards[1]["card_id"], stopped["deliverable_card_id"]);
    let view = api.get(&format!("/projects/p1/turns/{}/view", second.id)).await.expect(200);
    assert!(view.to_string().contains(stopped["deliverable_card_id"].as_str().unwrap()));
    // Not where the live turn writes.
    let behind = api.dispatch_with("a1", json!({ "output_box_id": leased.lease["output_box_id"] })).await;
    let len =
        async || api.get(&format!("/projects/p1/boxes/{}", behind.output)).await.expect(200)["len"].clone();
    let before = len().await;
    api.post(&path(&behind.id), json!({})).await.expect(200);
    assert_eq!(len().await, before);
    assert_eq!(api.head("a1").await["queued"], 1);
    api.finish(&leased, "success").await;
    let leases = api.claim().await;
    assert_eq!(leases.len(), 1);
    assert_eq!((&leases[0].turn, leases[0].epoch), (&third.id, 2));
    let told = api.told("agent.task").await;
    let turns: Vec<_> = told.iter().map(|event| event["agent_turn_id"].as_str().unwrap()).collect();
    assert_eq!(turns, [second.id.as_str(), &behind.id, &leased.turn]);
}

/// WK-09
async fn a_stop_for_a_later_epoch_is_stale(api: Api) {
    let leased = api.running("a1").await;
    let before = api.everything().await;
    api.post(&path(&leased.turn), json!({ "turn_epoch": 2 })).await.expect_error(409, "stale_turn");
    assert_eq!(api.everything().await, before);
    api.post(&path(&leased.turn), json!({ "turn_epoch": 0 })).await.expect(200);
    let nobody = format!("turn_{}", crate::support::NOBODY);
    api.post(&path(&nobody), json!({})).await.expect_error(404, "not_found");
}

async fn a_turn_nobody_has_claimed_is_stopped_without_a_hint(api: Api) {
    let turn = api.dispatch("a1").await;
    api.post(&path(&turn.id), json!({})).await.expect(200);
    assert!(api.claim().await.is_empty());
    assert_eq!(api.head("a1").await["status"], "idle");
}
