//! What is long does not hold up what is short (F-41, F-45): everything here runs on one thread, which must stay free.

use crate::support::{Api, Backend};
use axum::{body::Body, http::Request};
use cardwire_model::limits::BODY_BYTES;
use serde_json::{Value, json};
use std::{
    cell::Cell,
    future::Future,
    time::{Duration, Instant},
};
use tower::ServiceExt;

/// Longest time without a tick: far more than the thread is held, because tests share processors, and far less than the work
/// takes where it is not compiled for speed.
const PATIENCE: Duration = Duration::from_millis(250);

/// What comes of some work, and the longest time meanwhile that nothing else could run on this thread.
async fn beside<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let (longest, last) = (Cell::new(Duration::ZERO), Cell::new(Instant::now()));
    let tick = || {
        longest.set(longest.get().max(last.get().elapsed()));
        last.set(Instant::now());
    };
    let ticks = async {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            tick();
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = ticks => unreachable!("it ticks on"),
    };
    // What held the thread to its very end let no tick through.
    tick();
    (done, longest.get())
}

/// A conversation of as many messages as one request takes.
fn conversation(letters: usize) -> String {
    let message = json!({ "role": "human", "content": "x".repeat(letters) }).to_string();
    let count = (BODY_BYTES - 64) / (message.len() + 1);
    format!("{{\"checkpoint_messages\":[{}]}}", vec![message; count].join(","))
}

/// F-45, SEC-07
#[tokio::test]
async fn the_largest_request_to_compose_does_not_hold_the_thread_that_serves_others() {
    let api = Api::start(Backend::Sqlite).await;
    let reader = api.post("/tokens", json!({ "project_id": "p1", "scopes": ["read"] })).await.expect(201);
    let reader = reader["token"].as_str().unwrap();
    for letters in [1, 100_000] {
        let request = Request::post("/context/compose").header("host", "127.0.0.1");
        let request = request.header("authorization", format!("Bearer {reader}"));
        let request = request.body(Body::from(conversation(letters))).unwrap();
        let begun = Instant::now();
        // The answer is not read here: a client of this size holds its own thread.
        let (response, held) = beside(api.router.clone().oneshot(request)).await;
        println!("messages of {letters}: {:?} in all, the thread was held for {held:?}", begun.elapsed());
        assert_eq!(response.unwrap().status().as_u16(), 200);
        assert!(held < PATIENCE, "messages of {letters}: {held:?}");
    }
}

/// Definitions, each of which names the next twice.
fn doubling(levels: usize) -> Value {
    let level = |n: usize| {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        (format!("d{n}"), json!({ "anyOf": [next, next] }))
    };
    let mut defs: serde_json::Map<String, Value> = (0..levels).map(level).collect();
    defs.insert(format!("d{levels}"), json!({ "type": "null" }));
    json!({ "$ref": "#/$defs/d0", "$defs": defs })
}

/// F-41, SEC-07
#[tokio::test]
async fn a_package_whose_schema_has_no_end_is_refused_and_holds_up_nobody() {
    let api = Api::start(Backend::Sqlite).await;
    let kind = json!({ "schema": doubling(28) }).to_string();
    api.with(&api.admin, "PUT", "/projects/p1/handoff-types/bomb", &kind).await.expect(201);
    let reader = api.post("/tokens", json!({ "project_id": "p1", "scopes": ["read"] })).await.expect(201);
    let reader = reader["token"].as_str().unwrap();
    let package = json!({ "handoff_type": "bomb", "timestamp": "2026-01-04T10:30:00" }).to_string();
    for path in ["/projects/p1/handoffs:validate", "/projects/p1/handoffs"] {
        let token = if path.ends_with("validate") { reader } else { &api.admin };
        let (reply, held) = beside(api.with(token, "POST", path, &package)).await;
        reply.expect_error(400, "invalid_package");
        assert!(reply.json()["error"]["message"].as_str().unwrap().contains("steps"));
        assert!(held < PATIENCE, "{path}: {held:?}");
    }
}

/// F-41, SEC-08
#[tokio::test]
async fn a_schema_that_cannot_be_run_is_refused_when_it_is_written() {
    let api = Api::start(Backend::Sqlite).await;
    for (schema, status) in [
        (json!({ "$ref": "https://schemas.example/boat" }), 400),
        (json!({ "$ref": "#" }), 400),
        (json!({ "pattern": "(?=a)" }), 400),
        (json!({ "title": "x".repeat(64 * 1024) }), 413),
        (json!({ "allOf": vec![true; 5_000] }), 413),
    ] {
        let kind = json!({ "schema": schema }).to_string();
        let reply = api.with(&api.admin, "PUT", "/projects/p1/handoff-types/bad", &kind).await;
        assert_eq!(reply.expect(status)["error"]["detail"]["field"], "schema");
        let fields = json!([{ "name": "a", "description": "", "schema": schema }]);
        let card = json!({ "content": fields, "metadata": { "type": "task.result_fields" } });
        let reply = api.post("/projects/p1/l0/cards", card).await.expect(status);
        let field = reply["error"]["detail"]["field"].as_str().unwrap();
        assert!(field.starts_with("content/fields/0/schema"), "{field}");
    }
    assert!(api.get("/projects/p1/handoff-types").await.expect(200)["items"].as_array().unwrap().is_empty());
}
