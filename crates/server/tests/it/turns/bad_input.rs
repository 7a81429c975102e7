//! Bad input to turns: a 4xx that names the field, and nothing written (SEC-07, SEC-08, API-06).

use crate::support::{Api, NOBODY, Reply, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    bad_dispatches_are_refused;
    bad_words_about_a_turn_are_refused;
    bad_reports_are_refused;
    bad_claims_are_refused;
    numbers_and_times_at_the_end_of_their_range_are_no_fault_of_ours;
}

#[track_caller]
fn names(reply: &Reply, field: &str) {
    let body = reply.expect(400);
    assert_eq!(body["error"]["code"], "bad_request", "{body}");
    assert_eq!(body["error"]["detail"]["field"], field, "{body}");
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

async fn bad_dispatches_are_refused(api: Api) {
    let order = api.order("a1", json!({})).await;
    let before = api.everything().await;
    let long = "x".repeat(129);
    let big = "x".repeat(cardwire_model::limits::RUNTIME_CONFIG_BYTES);
    for (field, value) in [
        ("agent_id", json!("a.b")),
        ("agent_id", json!("a b")),
        ("agent_id", json!(long)),
        ("agent_id", json!(7)),
        ("profile_box_id", json!("x")),
        ("context_box_id", json!(format!("turn_{NOBODY}"))),
        ("output_box_id", json!("")),
        ("output_box_id", json!("x")),
        ("agent_turn_id", json!(NOBODY)),
        ("agent_turn_id", json!("")),
        ("correlation_id", json!("")),
        ("correlation_id", json!(long)),
        ("correlation_id", json!("a\u{0}b")),
        ("channel_id", json!("a*")),
        ("trace_id", json!("")),
        ("trace_id", json!("\n")),
        ("parent_agent_turn_id", json!("turn_x")),
        ("parent_agent_turn_id", json!("")),
        ("parent_tool_call_id", json!(" ")),
        ("parent_step_id", json!("a/b")),
        ("source_agent_id", json!("a>b")),
        ("display_name", json!("\u{0}")),
        ("display_name", json!(long)),
        ("runtime_config", json!([])),
        ("runtime_config", json!("x")),
        ("headers", json!([])),
        ("headers", json!({ "traceparent": 7 })),
        ("queue_if_busy", json!("false")),
        ("emit_state_event", json!(1)),
        ("metadata", json!({})),
        ("depth", json!(0)),
        ("turn_epoch", json!(9)),
    ] {
        let body = with(order.clone(), field, value);
        let reply = api.send_turn(&body).await;
        reply.expect_error(400, "bad_request");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with(field), "{body}: {message}");
    }
    let body = with(order.clone(), "runtime_config", json!({ "k": big }));
    api.send_turn(&body).await.expect_error(413, "too_large");
    let text = order.to_string();
    let nul = format!(r#"{},"runtime_config":{{"k":"\u0000"}}}}"#, &text[..text.len() - 1]);
    names(&api.post_raw("/projects/p1/l0/turns", &nul).await, "runtime_config/k");
    // RP-06
    for (layers, field) in [
        (json!("framework"), "runtime_config/without_layers"),
        (json!(["zzz"]), "runtime_config/without_layers/0"),
        (json!(["todo", "query"]), "runtime_config/without_layers/1"),
    ] {
        let body = with(order.clone(), "runtime_config", json!({ "without_layers": layers }));
        names(&api.send_turn(&body).await, field);
    }
    for watermark in [json!("1"), json!(-1), json!(1)] {
        let body = with(order.clone(), "runtime_config", json!({ "forked_watermark": watermark }));
        names(&api.send_turn(&body).await, "runtime_config/forked_watermark");
    }
    for body in ["[]", "{", "\"x\"", "null"] {
        api.post_raw("/projects/p1/l0/turns", body).await.expect_error(400, "bad_request");
    }
    assert_eq!(api.everything().await, before, "nothing was written");
}

async fn bad_words_about_a_turn_are_refused(api: Api) {
    let leased = api.running("a1").await;
    let card = json!({ "content": "x", "metadata": { "type": "agent.thought" } });
    let before = api.everything().await;
    for (verb, body, field) in [
        ("/cards", json!({ "cards": "x" }), "cards"),
        ("/cards", json!({ "cards": [card], "content": "x" }), "cards"),
        ("/cards", json!({ "cards": [card, { "content": "x" }] }), "cards/1/metadata"),
        ("/cards", json!({ "cards": [{ "content": "x", "metadata": {} }] }), "cards/0/metadata/type"),
        ("/cards", json!({ "metadata": { "type": "x" } }), "content"),
        ("/cards", with(card.clone(), "card_id", json!("x")), "card_id"),
        ("/cards", with(card.clone(), "box_id", json!(NOBODY)), "box_id"),
        ("/cards", with(card.clone(), "tool_calls", json!([{}])), "tool_calls/0/id"),
        (
            "/cards",
            json!({ "content": { "tool_name": "x", "arguments": {} }, "metadata": { "type": "tool.call" } }),
            "tool_call_id",
        ),
        ("/steps", json!({}), "phase"),
        ("/steps", json!({ "phase": "" }), "phase"),
        ("/steps", json!({ "phase": "x", "step_id": "one" }), "step_id"),
        ("/steps", json!({ "phase": "x", "step_id": "step_a.b" }), "step_id"),
        ("/steps", json!({ "phase": "x", "status": "\u{0}" }), "status"),
        ("/steps", json!({ "phase": "x", "request_box_id": "x" }), "request_box_id"),
        ("/steps", json!({ "phase": "x", "metadata": [] }), "metadata"),
        (":suspend", json!({}), "waiting_tool_call_ids"),
        (":suspend", json!({ "waiting_tool_call_ids": [] }), "waiting_tool_call_ids"),
        (":suspend", json!({ "waiting_tool_call_ids": ["a", " "] }), "waiting_tool_call_ids/1"),
        (
            ":suspend",
            json!({ "waiting_tool_call_ids": ["a"], "resume_deadline_seconds": 0 }),
            "resume_deadline_seconds",
        ),
        (
            ":suspend",
            json!({ "waiting_tool_call_ids": ["a"], "resume_deadline_seconds": 604_801 }),
            "resume_deadline_seconds",
        ),
        (
            ":suspend",
            json!({ "waiting_tool_call_ids": ["a"], "resume_deadline_seconds": 1.5 }),
            "resume_deadline_seconds",
        ),
        (":finish", json!({}), "status"),
        (":finish", json!({ "status": "done" }), "status"),
        (
            ":finish",
            json!({ "status": "success", "deliverable": 1, "deliverable_card_id": NOBODY }),
            "deliverable_card_id",
        ),
        (":finish", json!({ "status": "success", "deliverable_card_id": "x" }), "deliverable_card_id"),
        (":finish", json!({ "status": "success", "error": "\u{0}" }), "error"),
        (":finish", json!({ "status": "success", "cards": [{}] }), "cards/0/content"),
        (":finish", json!({ "status": "success", "step": { "phase": "x", "metadata": 1 } }), "step/metadata"),
        (":finish", json!({ "status": "success", "step": {} }), "step/phase"),
        (":release", json!({ "defer_seconds": 604_801 }), "defer_seconds"),
        (":release", json!({ "reason": "\u{0}" }), "reason"),
        (":start", json!({ "extra": 1 }), "extra"),
    ] {
        let reply = api.verb(&leased, verb, body.clone()).await;
        let answer = reply.expect(400);
        assert_eq!(answer["error"]["detail"]["field"], field, "{verb} {body}: {answer}");
    }
    for verb in [":start", ":heartbeat", "/cards", "/steps", ":suspend", ":finish", ":release"] {
        let path = leased.path(verb);
        names(&api.with(&leased.token, "POST", &path, "{}").await, "turn_epoch");
        for epoch in ["-1", "1.5", "\"1\"", "null", "18446744073709551616"] {
            let body = format!(r#"{{"turn_epoch":{epoch}}}"#);
            let reply = api.with(&leased.token, "POST", &path, &body).await;
            names(&reply, "turn_epoch");
        }
    }
    let stop = format!("/projects/p1/turns/{}:stop", leased.turn);
    names(&api.post(&stop, json!({ "reason": "\u{0}" })).await, "reason");
    names(&api.post(&stop, json!({ "turn_epoch": -1 })).await, "turn_epoch");
    api.post(&stop, json!({ "reason": "x".repeat(4_097) })).await.expect_error(413, "too_large");
    for id in ["x", NOBODY, "turn_", "%00"] {
        let path = format!("/projects/p1/l0/turns/{id}:start");
        names(&api.post(&path, json!({ "turn_epoch": 1 })).await, "agent_turn_id");
    }
    let nobody = format!("/projects/p1/l0/turns/turn_{NOBODY}:start");
    api.post(&nobody, json!({ "turn_epoch": 1 })).await.expect_error(404, "not_found");
    let path = leased.path(":fly");
    api.post(&path, json!({ "turn_epoch": 1 })).await.expect_error(404, "not_found");
    assert_eq!(api.everything().await, before, "nothing was written");
}

async fn bad_reports_are_refused(api: Api) {
    let leased = api.running("a1").await;
    api.verb(&leased, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
    let before = api.everything().await;
    for (more, field) in [
        (json!({}), "result"),
        (json!({ "error": null }), "result"),
        (json!({ "status": "ok" }), "status"),
        (json!({ "result": 1, "after_execution": "stop" }), "after_execution"),
        (json!({ "result": 1, "after_execution": true }), "after_execution"),
        (json!({ "result": 1, "author_id": "" }), "author_id"),
        (json!({ "result": 1, "author_id": "\u{0}" }), "author_id"),
        (json!({ "result": 1, "agent_id": "a b" }), "agent_id"),
        (json!({ "result": 1, "tool_call_id": "" }), "tool_call_id"),
        (json!({ "result": 1, "tool_call_id": "\u{0}" }), "tool_call_id"),
        (json!({ "tool_result_card_id": "x" }), "tool_result_card_id"),
        (json!({ "tool_result_card_id": NOBODY, "result": 1 }), "tool_result_card_id"),
        (json!({ "tool_result_card_id": NOBODY, "error": 1 }), "tool_result_card_id"),
        (json!({ "turn_epoch": "1" }), "turn_epoch"),
        (json!({ "__cg_control": 1 }), "__cg_control"),
    ] {
        let reply = api.report(&leased, "c1", more.clone()).await;
        let answer = reply.expect(400);
        assert_eq!(answer["error"]["detail"]["field"], field, "{more}: {answer}");
    }
    for (missing, field) in [("{}", "agent_turn_id"), (r#"{"agent_turn_id":"x"}"#, "agent_turn_id")] {
        let reply = api.with(&leased.token, "POST", "/projects/p1/l0/reports", missing).await;
        names(&reply, field);
    }
    let big = "x".repeat(cardwire_model::limits::CARD_BYTES);
    for (more, field) in [
        (json!({ "result": big }), "result"),
        (json!({ "status": "failed", "error": { "message": big } }), "error"),
    ] {
        let reply = api.report(&leased, "c1", more).await;
        reply.expect_error(413, "too_large");
        assert_eq!(reply.json()["error"]["detail"]["field"], field);
    }
    // With what stands around it one level more than JSON may have.
    let deep = (1..cardwire_model::limits::JSON_DEPTH).fold(json!([]), |value, _| json!([value]));
    names(&api.report(&leased, "c1", json!({ "result": deep })).await, "result");
    assert_eq!(api.everything().await, before, "nothing was written");
}

async fn bad_claims_are_refused(api: Api) {
    let claim = json!({ "worker_target": "w1", "worker_id": "w" });
    for (body, field) in [
        (json!({ "worker_id": "w" }), "worker_target"),
        (json!({ "worker_target": "w1" }), "worker_id"),
        (with(claim.clone(), "worker_target", json!("a.b")), "worker_target"),
        (with(claim.clone(), "worker_id", json!("")), "worker_id"),
        (with(claim.clone(), "worker_id", json!("x".repeat(129))), "worker_id"),
        (with(claim.clone(), "worker_id", json!("\u{7}")), "worker_id"),
        (with(claim.clone(), "max_turns", json!("1")), "max_turns"),
        (with(claim.clone(), "wait_ms", json!(0.5)), "wait_ms"),
        (with(claim.clone(), "projects", json!([])), "projects"),
        (with(claim.clone(), "projects", json!(["p1", "a b"])), "projects/1"),
        (with(claim.clone(), "projects", json!("p1")), "projects"),
        (with(claim.clone(), "start", json!("yes")), "start"),
        (with(claim.clone(), "hydrate", json!(1)), "hydrate"),
        (with(claim.clone(), "more", json!(1)), "more"),
    ] {
        let reply = api.post("/l0/claim", body.clone()).await;
        let answer = reply.expect(400);
        assert_eq!(answer["error"]["detail"]["field"], field, "{body}: {answer}");
    }
    api.post("/l0/claim", with(claim, "worker_id", json!("x".repeat(128)))).await.expect(200);
}

/// SEC-08: no 5xx, and what is there stays as it is.
async fn numbers_and_times_at_the_end_of_their_range_are_no_fault_of_ours(api: Api) {
    let leased = api.running("a1").await;
    for path in [
        "state/inbox?cursor=18446744073709551615",
        "turns?cursor=18446744073709551615&status=running",
        "audit?cursor=18446744073709551615",
        "state/steps?cursor=9223372036854775807.step_x",
        "state/steps?cursor=-9223372036854775808.step_x",
        "state/execution/edges?cursor=edge_ffffffffffffffffffffffffffffffff",
        "turns?since=-009999-01-02T01:59:59Z&until=9999-12-30T22:00:00Z",
        "turns?limit=9223372036854775807",
        "events?follow=false&after=9223372036854775807",
    ] {
        let reply = api.get(&format!("/projects/p1/{path}")).await;
        assert!(!reply.status.is_server_error(), "{path}: {}", String::from_utf8_lossy(&reply.bytes));
    }
    for now in ["-009999-01-02T01:59:59Z", "0001-01-01T00:00:00Z"] {
        let report = api.post("/admin/watchdog:tick", json!({ "now": now })).await.expect(200);
        assert_eq!(report["actions"], json!([]), "{now}");
    }
    assert_eq!(api.turn(&leased.turn).await["status"], "running");
    let report = api.post("/admin/watchdog:tick", json!({ "now": "9999-12-30T22:00:00Z" })).await.expect(200);
    assert_eq!(report["actions"][0]["action"], "reap");
    assert_eq!(api.turn(&leased.turn).await["ended_at"], "9999-12-30T22:00:00.000000Z");
}
