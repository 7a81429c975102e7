//! Bad input to calls: a 4xx that names the field, and nothing written (SEC-07, SEC-08, API-06).

use crate::support::{Api, names, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    bad_calls_are_refused_and_leave_nothing;
    only_a_running_turn_calls_a_model;
}

async fn bad_calls_are_refused_and_leave_nothing(api: Api) {
    let leased = api.running("a1").await;
    let before = api.everything().await;
    let with = |field: &str, value: Value| {
        let mut body = json!({ "turn_epoch": 1, "model": "m-1" });
        body[field] = value;
        body
    };
    for (body, field) in [
        (json!({ "model": "m-1" }), "turn_epoch"),
        (with("turn_epoch", json!("1")), "turn_epoch"),
        (json!({ "turn_epoch": 1 }), "model"),
        (with("model", json!(" ")), "model"),
        (with("model", json!("m".repeat(129))), "model"),
        (with("provider", json!("acme")), "provider"),
        (with("params", json!([])), "params"),
        (with("params", json!({ "a": "\u{0}" })), "params/a"),
        (with("tools", json!({})), "tools"),
        (with("tools", json!(["look"])), "tools/0"),
        (with("process", json!("waterfall")), "process"),
        (with("enable_share_context", json!(1)), "enable_share_context"),
        (with("contexts", json!([])), "contexts"),
        (with("contexts", json!({ "todo__context": 7 })), "contexts/todo__context"),
        (with("window", json!(-1)), "window"),
        (with("window", json!(4_294_967_296_u64)), "window"),
        (with("reserve", json!("x")), "reserve"),
        (with("step_id", json!("a b")), "step_id"),
        (with("system_prompt", json!("obey")), "system_prompt"),
        (with("messages", json!([])), "messages"),
    ] {
        let reply = api.with(&leased.token, "POST", &leased.path("/calls"), &body.to_string()).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.json());
        names(&reply, "bad_request", field);
    }
    for key in ["todo_context", "system_prompt__context"] {
        let body = with("contexts", json!({ key: "x" }));
        let reply = api.with(&leased.token, "POST", &leased.path("/calls"), &body.to_string()).await;
        names(&reply, "invalid_context_key", &format!("contexts/{key}"));
    }
    assert_eq!(api.everything().await, before, "nothing was written");
}

/// WK-01, SEC-02
async fn only_a_running_turn_calls_a_model(api: Api) {
    let leased = api.leased("a1").await;
    api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect_error(409, "conflict");
    api.verb(&leased, ":start", json!({})).await.expect(200);
    let other = api.running("a2").await;
    let body = json!({ "turn_epoch": 1, "model": "m-1" }).to_string();
    api.with(&other.token, "POST", &leased.path("/calls"), &body).await.expect_error(401, "unauthenticated");
    let worker = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    api.with(&worker, "POST", &leased.path("/calls"), &body).await.expect_error(403, "forbidden");
    api.with(&api.admin, "POST", &leased.path("/calls"), &body).await.expect(201);
    // A turn token opens its turn only, not what calls of the project were made of.
    let call = api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect(201);
    let path = format!("/projects/p1/calls/{}/context", call["call_id"].as_str().unwrap());
    api.with(&leased.token, "GET", &path, "").await.expect_error(403, "forbidden");
}
