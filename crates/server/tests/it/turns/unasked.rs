//! Work that no worker has asked for: what is told of it, and when (F-03).

use crate::support::{Api, Backend, on_sqlite};
use cardwire_kernel::protocol::watchdog::Policy;
use serde_json::{Value, json};

on_sqlite! {
    a_turn_says_that_no_worker_has_asked_for_it;
    the_event_log_is_told_once_per_spell;
    nothing_is_told_while_workers_ask;
}

fn message(turn: &Value) -> &str {
    turn["waiting"]["message"].as_str().unwrap_or_default()
}

async fn a_turn_says_that_no_worker_has_asked_for_it(api: Api) {
    let turn = api.dispatch("a1").await;
    api.clock.advance(40);
    let seen = api.turn(&turn.id).await;
    assert!(message(&seen).starts_with("no worker has asked for target w1 for 4"), "{seen}");
    assert!(message(&seen).ends_with(" s, since this server started"), "{seen}");
    let waiting = &seen["waiting"];
    assert_eq!((&waiting["worker_target"], &waiting["last_asked_at"]), (&json!("w1"), &Value::Null));
    assert_eq!(waiting["since"], api.head("a1").await["dispatched_at"]);
    let behind = api.dispatch("a1").await;
    assert!(api.turn(&behind.id).await.get("waiting").is_none(), "it waits for another turn");
    // Another target, another project: those ask for other work.
    api.claim_with(json!({ "worker_target": "other" })).await;
    api.claim_with(json!({ "projects": ["p2"] })).await;
    assert!(api.turn(&turn.id).await["waiting"]["last_asked_at"].is_null());
    let leased = api.claim_with(json!({ "start": true, "projects": ["p1"] })).await.remove(0);
    assert!(api.turn(&turn.id).await.get("waiting").is_none(), "it is claimed");
    api.finish(&leased, "success").await;
    api.clock.advance(40);
    let seen = api.turn(&behind.id).await;
    assert!(message(&seen).starts_with("no worker has asked for target w1 for 4"), "{seen}");
    assert!(message(&seen).ends_with(" s on this server"), "{seen}");
    assert!(seen["waiting"]["last_asked_at"].is_string());
}

async fn the_event_log_is_told_once_per_spell(api: Api) {
    let (first, _) = (api.dispatch("a1").await, api.dispatch("a2").await);
    api.tick(11).await;
    api.tick(20).await;
    assert!(api.told("worker.wanted").await.is_empty(), "it has not waited for long");
    for seconds in [40, 45, 0, 400] {
        api.tick(seconds).await;
    }
    let told = api.told("worker.wanted").await;
    assert_eq!(told.len(), 1, "{told:?}");
    let told = &told[0];
    assert_eq!((&told["worker_target"], &told["waiting_turns"]), (&json!("w1"), &json!(2)));
    assert!(
        told["message"].as_str().unwrap().starts_with("no worker has asked for target w1 for 4"),
        "{told}"
    );
    assert_eq!(told["waiting_since"], api.head("a1").await["dispatched_at"]);
    let leased = api.claim_with(json!({ "max_turns": 1, "start": true })).await.remove(0);
    assert_eq!(leased.turn, first.id);
    api.clock.advance(500);
    api.tick(0).await;
    assert_eq!(api.told("worker.wanted").await.len(), 2, "a worker has asked in between");
}

async fn nothing_is_told_while_workers_ask(api: Api) {
    let policy = Policy::default();
    assert_eq!((policy.dispatched_timeout, policy.claim_start_timeout, policy.worker_lost), (0, 30, 30));
    let turn = api.dispatch("a1").await;
    api.clock.advance(40);
    api.claim_with(json!({ "max_turns": 1, "start": true })).await;
    let waiting = api.dispatch("a2").await;
    assert!(api.turn(&waiting.id).await["waiting"]["last_asked_at"].is_string());
    api.tick(0).await;
    assert!(api.told("worker.wanted").await.is_empty());
    assert_eq!(api.turn(&turn.id).await["status"], "running");
}

/// A server that knows nothing says so of itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_speaks_for_itself() {
    let api = Api::start(Backend::Sqlite).await;
    api.claim().await;
    let turn = api.dispatch("a1").await;
    let other = api.again(cardwire_kernel::ContextConfig::default());
    assert!(api.turn(&turn.id).await["waiting"]["last_asked_at"].is_string());
    let seen = other.turn(&turn.id).await;
    assert!(seen["waiting"]["last_asked_at"].is_null());
    assert!(message(&seen).ends_with(" s, since this server started"), "{seen}");
}
