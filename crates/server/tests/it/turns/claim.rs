//! Claiming (API-10, DP-11, DP-15).

use crate::support::{Api, on_both};
use serde_json::json;
use std::{collections::HashSet, sync::Arc};

on_both! {
    a_lease_says_what_a_worker_needs;
    a_lease_can_bring_what_its_worker_would_read_first;
    a_lease_brings_what_its_own_project_gives;
    concurrent_claims_are_disjoint;
    a_claim_waits_until_something_comes;
    a_claim_takes_the_oldest_first_and_no_more_than_asked;
    a_claim_can_start_what_it_takes;
    a_worker_sees_its_target_and_its_projects_only;
    a_released_turn_is_given_to_another;
    a_deferred_turn_waits;
    sec_02_who_waits_with_a_revoked_token_is_given_nothing;
    a_worker_of_all_projects_is_given_nothing_of_a_deleted_one;
}

/// API-10
async fn a_lease_says_what_a_worker_needs(api: Api) {
    assert!(api.claim().await.is_empty(), "nothing waits, and no time is spent on it");
    let parent = api.dispatch("boss").await;
    api.claim().await;
    let more = json!({
        "parent_agent_turn_id": parent.id, "parent_step_id": "step_1", "display_name": "One",
        "runtime_config": { "n": 1 }, "channel_id": "private", "trace_id": "t",
    });
    let turn = api.dispatch_with("a1", more).await;
    let leases = api.claim().await;
    assert_eq!(leases.len(), 1);
    let lease = &leases[0].lease;
    let expected = json!({
        "project_id": "p1", "agent_id": "a1", "agent_turn_id": turn.id, "turn_epoch": 1, "kind": "turn",
        "inbox_id": turn.inbox, "context_box_id": turn.context, "output_box_id": turn.output,
        "profile_box_id": api.agent("a1").await, "channel_id": "private", "depth": 1, "trace_id": "t",
        "parent_step_id": "step_1", "parent_agent_turn_id": parent.id, "display_name": "One",
        "runtime_config": { "n": 1 }, "status": "dispatched", "turn_token": leases[0].token,
    });
    assert_eq!(*lease, expected);
    assert!(leases[0].token.starts_with(&format!("cwturn_p1.{}.", leases[0].turn)), "it names its turn");
    let row = &api.items(&format!("state/inbox?agent_turn_id={}", turn.id)).await[0];
    assert_eq!((&row["status"], &row["worker_id"]), (&json!("processing"), &json!("worker 1")));
    assert!(!row.to_string().contains("token"));
    assert!(api.claim().await.is_empty(), "given once");
}

/// API-10, WK-04
async fn a_lease_can_bring_what_its_worker_would_read_first(api: Api) {
    let fields = |name: &str| json!([{ "name": name, "description": "d" }]);
    let mut ids = vec![api.card("p1", "go").await];
    for name in ["old", "new"] {
        let card = json!({ "content": fields(name), "metadata": { "type": "task.result_fields" } });
        let put = api.post("/projects/p1/l0/cards", card).await.expect(201);
        ids.push(put["card_id"].as_str().unwrap().to_owned());
    }
    let context = api.make_box("p1", &ids).await;
    api.dispatch_with("a1", json!({ "context_box_id": context })).await;
    api.dispatch("a2").await;
    let ask = json!({ "start": true, "hydrate": true });
    let leases = api.claim_with(ask.clone()).await;
    assert_eq!(leases[0].lease["result_fields"], fields("new"), "the latest that it is given");
    let plain = leases[1].lease.as_object().unwrap();
    assert_eq!(plain.get("result_fields"), Some(&json!(null)));
    assert!(leases.iter().all(|leased| leased.lease["output_len"] == 0));

    api.think(&leases[0], "half of it").await;
    api.verb(&leases[0], ":release", json!({})).await.expect(200);
    let again = api.claim_with(ask).await.remove(0);
    assert_eq!((&again.lease["output_len"], &again.turn), (&json!(1), &leases[0].turn));
}

/// CB-08: turns of two projects may have one id.
async fn a_lease_brings_what_its_own_project_gives(api: Api) {
    let id = api.dispatch("a1").await.id;
    let fields = json!([{ "name": "theirs", "description": "d" }]);
    let card = json!({ "content": fields, "metadata": { "type": "task.result_fields" } });
    let card =
        api.post("/projects/p2/l0/cards", card).await.expect(201)["card_id"].as_str().unwrap().to_owned();
    let context = api.make_box("p2", &[card]).await;
    let profile = api.profile("p2").await;
    let agent = json!({ "agent_id": "a1", "profile_name": "Helper" });
    api.post("/projects/p2/agents", agent).await.expect(201);
    let turn = json!({
        "agent_id": "a1", "agent_turn_id": id, "context_box_id": context, "profile_box_id": profile,
    });
    api.post("/projects/p2/l0/turns", turn).await.expect(201);
    let ask = json!({ "worker_target": "w1", "worker_id": "w", "max_turns": 10, "hydrate": true });
    let leases = api.post("/l0/claim", ask).await.expect(200);
    let given = |project: &str| {
        let of = |lease: &&serde_json::Value| lease["project_id"] == project && lease["agent_turn_id"] == id;
        leases["leases"].as_array().unwrap().iter().find(of).unwrap()["result_fields"].clone()
    };
    assert_eq!((given("p1"), given("p2")), (json!(null), fields));
}

/// DP-15: no row is given to two workers.
async fn concurrent_claims_are_disjoint(api: Api) {
    for n in 0..20 {
        api.dispatch(&format!("a{n}")).await;
    }
    let asks = (0..8).map(|_| api.claim_with(json!({ "max_turns": 5 })));
    let claims = futures_util::future::join_all(asks).await;
    let mut all: Vec<_> = claims.into_iter().flatten().map(|lease| lease.turn).collect();
    // Whoever passed over rows that another claim was holding may have got fewer than there were.
    all.extend(api.claim().await.into_iter().map(|lease| lease.turn));
    let distinct: HashSet<_> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (20, 20));
}

/// API-10: a long poll, and DP-11: rung after the commit.
async fn a_claim_waits_until_something_comes(api: Api) {
    let api = Arc::new(api);
    let order = api.order("a1", json!({})).await;
    let started = std::time::Instant::now();
    let waiting = {
        let api = Arc::clone(&api);
        tokio::task::spawn(async move { api.claim_with(json!({ "wait_ms": 30_000 })).await })
    };
    tokio::task::yield_now().await;
    let turn = api.send_turn(&order).await.expect(201);
    let leases = waiting.await.unwrap();
    assert_eq!(leases.len(), 1);
    assert_eq!(turn["agent_turn_id"], json!(leases[0].turn));
    assert!(started.elapsed().as_secs() < 20, "it did not wait to its end");
    assert!(api.claim_with(json!({ "wait_ms": 20 })).await.is_empty(), "and it ends when nothing comes");
}

/// DP-15, NF-10
async fn a_claim_takes_the_oldest_first_and_no_more_than_asked(api: Api) {
    let mut turns = vec![];
    for n in 0..5 {
        turns.push(api.dispatch(&format!("a{n}")).await.id);
    }
    let mut claimed = vec![];
    for (ask, got) in [(json!({ "max_turns": null }), 1), (json!({ "max_turns": 2 }), 2), (json!({}), 2)] {
        let leases = api.claim_with(ask).await;
        assert_eq!(leases.len(), got);
        claimed.extend(leases.into_iter().map(|lease| lease.turn));
    }
    assert_eq!(claimed, turns);
    for clamped in [json!({ "max_turns": -5 }), json!({ "max_turns": 1_000_000, "wait_ms": -1 })] {
        assert!(api.claim_with(clamped).await.is_empty());
    }
}

async fn a_claim_can_start_what_it_takes(api: Api) {
    let turn = api.dispatch("a1").await;
    let leased = &api.claim_with(json!({ "start": true })).await[0];
    assert_eq!(leased.lease["status"], "running");
    assert_eq!(api.turn(&turn.id).await["status"], "running");
    api.think(leased, "at once").await;
    api.verb(leased, ":start", json!({})).await.expect(200);
    api.finish(leased, "success").await;
}

/// CB-08, SEC-02
async fn a_worker_sees_its_target_and_its_projects_only(api: Api) {
    api.dispatch("a1").await;
    assert!(api.claim_with(json!({ "worker_target": "w2" })).await.is_empty());
    assert!(api.claim_with(json!({ "projects": ["p2"] })).await.is_empty());
    let claim = |more: serde_json::Value| {
        let mut body = json!({ "worker_target": "w1", "worker_id": "w" });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body.to_string()
    };
    let stranger = api.token(json!({ "project_id": "p2", "scopes": ["work"] })).await;
    let none = api.with(&stranger, "POST", "/l0/claim", &claim(json!({}))).await.expect(200);
    assert_eq!(none["leases"], json!([]));
    for projects in [json!(["p1"]), json!(["p2", "p1"]), json!(["nowhere"])] {
        let reply = api.with(&stranger, "POST", "/l0/claim", &claim(json!({ "projects": projects }))).await;
        reply.expect_error(403, "forbidden");
    }
    let reply =
        api.post("/l0/claim", serde_json::from_str(&claim(json!({ "projects": ["nowhere"] }))).unwrap());
    reply.await.expect_error(404, "not_found");
    let reader = api.token(json!({ "project_id": "p1", "scopes": ["read"] })).await;
    api.with(&reader, "POST", "/l0/claim", &claim(json!({}))).await.expect_error(403, "forbidden");
    let own = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    let got = api.with(&own, "POST", "/l0/claim", &claim(json!({ "projects": ["p1"] }))).await.expect(200);
    assert_eq!(got["leases"].as_array().unwrap().len(), 1);
}

/// WK-01, NF-02: a new epoch fences the first worker off.
async fn a_released_turn_is_given_to_another(api: Api) {
    let leased = api.running("a1").await;
    api.think(&leased, "half of it").await;
    let released = api.verb(&leased, ":release", json!({ "reason": "shutting down" })).await.expect(200);
    assert_eq!(released["turn_epoch"], 2);
    api.verb(&leased, "/cards", json!({ "content": "late", "metadata": { "type": "x" } }))
        .await
        .expect_error(409, "stale_turn");
    let again = &api.claim_with(json!({ "worker_id": "worker 2" })).await[0];
    assert_eq!((&again.turn, again.epoch), (&leased.turn, 2));
    api.verb(&leased, ":heartbeat", json!({})).await.expect_error(401, "unauthenticated");
    api.verb(again, ":start", json!({})).await.expect(200);
    api.finish(again, "success").await;
    assert_eq!(api.shown("p1", &leased.output).await.len(), 2);
}

/// DP-15
async fn a_deferred_turn_waits(api: Api) {
    let leased = api.leased("a1").await;
    api.verb(&leased, ":release", json!({ "defer_seconds": 60, "reason": "busy" })).await.expect(200);
    let row = &api.items("state/inbox").await[0];
    assert_eq!((&row["defer_reason"], row.get("dispatch_error")), (&json!("busy"), None));
    assert_eq!((&row["status"], &row["retry_count"]), (&json!("deferred"), &json!(1)));
    assert!(row["next_retry_at"].is_string());
    assert!(api.claim().await.is_empty());
    assert!(api.tick(59).await.is_empty());
    api.clock.advance(61);
    assert_eq!(api.claim().await.len(), 1);
}

async fn sec_02_who_waits_with_a_revoked_token_is_given_nothing(api: Api) {
    let made = api.post("/tokens", json!({ "scopes": ["work"] })).await.expect(201);
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let wait = json!({ "worker_target": "w1", "worker_id": "w", "max_turns": 1, "wait_ms": 30_000 });
    let path = format!("/tokens/{id}");
    let wait = wait.to_string();
    let (refused, revoked) = tokio::join!(api.with(token, "POST", "/l0/claim", &wait), api.delete(&path));
    revoked.expect(204);
    refused.expect_error(401, "unauthenticated");
    let turn = api.dispatch("a1").await;
    assert_eq!(api.claim().await[0].turn, turn.id);
}

/// API-07: such a turn could not even be started.
async fn a_worker_of_all_projects_is_given_nothing_of_a_deleted_one(api: Api) {
    api.dispatch("a1").await;
    api.delete("/projects/p1").await.expect(204);
    assert!(api.claim().await.is_empty());
}
