//! Turns of workers that are not heard of any more, for workers that ask for such turns (F-08, WD-05).

use crate::support::{Api, Leased, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    a_turn_of_a_lost_worker_is_given_to_one_that_asks_for_such_turns;
    a_worker_that_is_heard_of_again_keeps_its_turn;
    attempts_on_a_turn_are_bounded;
}
on_sqlite! {
    whoever_does_not_ask_for_such_turns_is_given_none;
    silence_while_nobody_listened_is_none;
    a_wrong_word_is_refused;
}

fn by(worker: &str, recover: Value) -> Value {
    json!({ "worker_id": worker, "start": true, "recover": recover })
}

async fn recovered(api: &Api, worker: &str) -> Vec<Leased> {
    api.claim_with(by(worker, "target".into())).await
}

/// F-08, WD-05, NF-03
async fn a_turn_of_a_lost_worker_is_given_to_one_that_asks_for_such_turns(api: Api) {
    let lost = api.claimed_by("a1", "w1").await;
    api.think(&lost, "half of it").await;
    assert!(api.tick(25).await.is_empty());
    assert!(recovered(&api, "w2").await.is_empty(), "it was heard of lately");
    assert!(api.tick(31).await.is_empty(), "the watchdog alone takes nothing away");
    assert_eq!(api.turn(&lost.turn).await["status"], "running");
    let again = &recovered(&api, "w2").await[0];
    assert_eq!((&again.turn, again.epoch), (&lost.turn, lost.epoch + 1));
    assert_eq!((&again.lease["kind"], &again.output), (&json!("turn"), &lost.output));
    let before = api.everything().await;
    for (verb, body) in [
        (":heartbeat", json!({})),
        ("/cards", json!({ "content": "late", "metadata": { "type": "agent.thought" } })),
        (":finish", json!({ "status": "success", "deliverable": "late" })),
    ] {
        api.verb(&lost, verb, body).await.expect_error(409, "stale_turn");
    }
    api.with(&lost.token, "GET", &lost.path("/view"), "").await.expect_error(409, "stale_turn");
    assert_eq!(api.everything().await, before);
    assert!(recovered(&api, "w3").await.is_empty(), "it is given once");
    api.finish(again, "success").await;
    assert_eq!((api.told("agent.task").await.len(), api.items("state/inbox").await.len()), (1, 1));
    let steps = api.items("state/steps?phase=taken_back").await;
    assert_eq!(steps[0]["metadata"]["reason"], "worker_lost");
}

/// WD-05: heartbeats and steps count until the very moment.
async fn a_worker_that_is_heard_of_again_keeps_its_turn(api: Api) {
    let held = api.claimed_by("a1", "w1").await;
    api.tick(31).await;
    api.clock.advance(1);
    api.verb(&held, ":heartbeat", json!({})).await.expect(200);
    assert!(recovered(&api, "w2").await.is_empty());
    api.verb(&held, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
    api.tick(299).await;
    assert!(recovered(&api, "w2").await.is_empty(), "who waits for tools is not silent");
}

/// WD-05, WD-04: after three lost workers it ends.
async fn attempts_on_a_turn_are_bounded(api: Api) {
    let first = api.claimed_by("a1", "w0").await;
    for attempt in 1..=2 {
        api.clock.advance(31);
        api.tick(0).await;
        let again = recovered(&api, &format!("w{attempt}")).await;
        assert_eq!((again.len(), again[0].epoch), (1, first.epoch + attempt));
    }
    api.clock.advance(31);
    api.tick(0).await;
    assert!(recovered(&api, "w3").await.is_empty());
    let ended = api.turn(&first.turn).await;
    assert_eq!((&ended["status"], &ended["error"]), (&json!("timeout"), &json!("dispatch_timeout")));
    assert_eq!(api.told("agent.task").await.len(), 1);
}

async fn whoever_does_not_ask_for_such_turns_is_given_none(api: Api) {
    let lost = api.claimed_by("a1", "w1").await;
    api.tick(31).await;
    for recover in [json!(false), json!(true), Value::Null] {
        assert!(api.claim_with(by("w2", recover)).await.is_empty());
    }
    let other = json!({ "worker_target": "other", "recover": "target" });
    assert!(api.claim_with(other).await.is_empty());
    let elsewhere = json!({ "projects": ["p2"], "recover": "target" });
    assert!(api.claim_with(elsewhere).await.is_empty());
    let own = json!({ "worker_id": "w2", "recover": "target", "holding": [lost.turn] });
    assert!(api.claim_with(own).await.is_empty(), "it says that it holds it");
    // A claim that waits is given what becomes overdue meanwhile, and those of its own name as well.
    let waits = json!({ "worker_id": "w1", "start": true, "recover": "target", "wait_ms": 20_000 });
    assert_eq!(api.claim_with(waits).await[0].turn, lost.turn);
}

/// After a time in which no server ran every worker has been silent.
async fn silence_while_nobody_listened_is_none(api: Api) {
    let held = api.claimed_by("a1", "w1").await;
    api.clock.advance(100);
    let api = api.again(cardwire_kernel::ContextConfig::default());
    api.tick(25).await;
    assert!(recovered(&api, "w2").await.is_empty());
    api.tick(31).await;
    assert_eq!(recovered(&api, "w2").await[0].turn, held.turn);
}

async fn a_wrong_word_is_refused(api: Api) {
    for wrong in [json!("targets"), json!("true"), json!(1), json!(["target"]), json!({})] {
        let body = json!({ "worker_target": "w", "worker_id": "w1", "recover": wrong });
        let refused = api.post("/l0/claim", body).await;
        refused.expect_error(400, "bad_request");
        assert_eq!(refused.json()["error"]["detail"]["field"], "recover", "{wrong}");
    }
}
