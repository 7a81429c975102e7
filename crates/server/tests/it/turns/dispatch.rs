//! Dispatching turns (DP-01..DP-13).

use crate::support::{Api, on_both, on_sqlite};
use serde_json::{Value, json};
use std::collections::HashSet;

on_both! {
    turns_wait_behind_each_other_in_order;
    the_epoch_rises_once_more_after_a_reap;
    concurrent_dispatches_lease_one_turn;
}

on_sqlite! {
    what_is_missing_is_said_in_order;
    depth_follows_the_stored_lineage;
    a_project_sets_its_own_depth;
    an_agent_outside_the_roster_has_no_worker_target;
    an_accepted_turn_is_one_row_and_one_edge_of_pointers;
    a_repeated_dispatch_gets_the_first_answer;
    a_correlation_stands_for_one_request;
    a_lease_is_told_once_and_a_queued_turn_is_not;
    the_trace_is_the_one_that_was_named_first;
}

/// an error, and in the words of a dispatch as well.
#[track_caller]
fn refused(reply: &crate::support::Reply, status: u16, verdict: &str, code: &str) {
    let body = reply.expect(status);
    assert_eq!(body["error"]["code"], code, "{body}");
    assert!(body["error"]["message"].is_string());
    assert_eq!((&body["status"], &body["error_code"]), (&json!(verdict), &json!(code)));
    // DP-09: what is not known is null, not absent.
    assert!(body.get("agent_turn_id").is_some() && body["trace_id"].is_string(), "{body}");
}

/// DP-03, X-18
async fn what_is_missing_is_said_in_order(api: Api) {
    let order = api.order("a1", json!({})).await;
    let before = api.everything().await;
    for blank in [Value::Null, json!(""), json!("  ")] {
        let mut body = json!({ "agent_id": blank, "profile_box_id": blank, "context_box_id": blank });
        for (code, name, value) in [
            ("missing_agent_id", "agent_id", json!("stranger")),
            ("missing_profile_box_id", "profile_box_id", order["profile_box_id"].clone()),
            ("missing_context_box_id", "context_box_id", order["context_box_id"].clone()),
        ] {
            let reply = api.send_turn(&body).await;
            refused(&reply, 400, "rejected", code);
            body[name] = value;
        }
    }
    let reply = api.send_turn(&json!({})).await;
    refused(&reply, 400, "rejected", "missing_agent_id");
    // Depth comes before boxes, boxes before routing.
    let nobody = crate::support::NOBODY;
    let mut body = json!({
        "agent_id": "stranger", "profile_box_id": nobody, "context_box_id": nobody, "output_box_id": nobody,
        "parent_agent_turn_id": format!("turn_{nobody}"),
    });
    refused(&api.send_turn(&body).await, 400, "rejected", "protocol_violation");
    body.as_object_mut().unwrap().remove("parent_agent_turn_id");
    let reply = api.send_turn(&body).await;
    refused(&reply, 404, "rejected", "profile_box_not_found");
    assert_eq!(reply.json()["agent_id"], "stranger");
    body["profile_box_id"] = order["profile_box_id"].clone();
    refused(&api.send_turn(&body).await, 404, "rejected", "context_box_not_found");
    body["context_box_id"] = order["context_box_id"].clone();
    refused(&api.send_turn(&body).await, 404, "rejected", "unknown_output_box");
    body.as_object_mut().unwrap().remove("output_box_id");
    refused(&api.send_turn(&body).await, 404, "error", "worker_target_missing");
    assert_eq!(api.everything().await, before, "W-13: nothing of it is left");
    body["agent_id"] = json!("a1");
    api.send_turn(&body).await.expect(201);
}

/// DP-04, SEC-07: the kernel reads the depth from what it has stored.
async fn depth_follows_the_stored_lineage(api: Api) {
    let mut parent: Option<String> = None;
    for depth in 0..20 {
        let more = parent.map_or_else(|| json!({}), |id| json!({ "parent_agent_turn_id": id }));
        let turn = api.dispatch_with(&format!("a{depth}"), more).await;
        assert_eq!(api.turn(&turn.id).await["depth"], depth);
        parent = Some(turn.id);
    }
    let more = json!({ "parent_agent_turn_id": parent });
    let body = api.order("too-deep", more).await;
    refused(&api.send_turn(&body).await, 400, "rejected", "recursion_depth_exceeded");
    // The wish of a payload counts for nothing: there is no such field.
    let mut body = api.order("a1", json!({})).await;
    body["depth"] = json!(0);
    api.send_turn(&body).await.expect_error(400, "bad_request");
}

/// DP-04: max 3, so that depth 2 is the deepest.
async fn a_project_sets_its_own_depth(api: Api) {
    let patch = json!({ "settings": { "max_recursion_depth": 3 } }).to_string();
    let changed = api.with(&api.admin, "PATCH", "/projects/p1", &patch).await.expect(200);
    assert_eq!(changed["settings"]["max_recursion_depth"], 3);
    let first = api.dispatch("a0").await;
    let second = api.dispatch_with("a1", json!({ "parent_agent_turn_id": first.id })).await;
    let third = api.dispatch_with("a2", json!({ "parent_agent_turn_id": second.id })).await;
    assert_eq!(api.turn(&third.id).await["depth"], 2);
    let body = api.order("a3", json!({ "parent_agent_turn_id": third.id })).await;
    refused(&api.send_turn(&body).await, 400, "rejected", "recursion_depth_exceeded");
    for bad in [0, 101] {
        let patch = json!({ "settings": { "max_recursion_depth": bad } }).to_string();
        api.with(&api.admin, "PATCH", "/projects/p1", &patch).await.expect_error(400, "bad_request");
    }
}

/// DP-07, W-13
async fn an_agent_outside_the_roster_has_no_worker_target(api: Api) {
    let mut body = api.order("a1", json!({})).await;
    let before = api.everything().await;
    body["agent_id"] = json!("stranger");
    let reply = api.send_turn(&body).await;
    refused(&reply, 404, "error", "worker_target_missing");
    assert_eq!(api.everything().await, before);
}

/// DP-01, DP-08, DP-10
async fn an_accepted_turn_is_one_row_and_one_edge_of_pointers(api: Api) {
    let more = json!({
        "parent_tool_call_id": "call 1", "parent_step_id": "step_1", "source_agent_id": "boss",
        "display_name": "首席", "runtime_config": { "temperature": 0.5 }, "channel_id": "private",
        "trace_id": "trace 1",
    });
    let turn = api.dispatch_with("a1", more).await;
    let rows = api.items("state/inbox").await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((&row["kind"], &row["status"]), (&json!("turn"), &json!("pending")));
    assert_eq!((&row["agent_turn_id"], &row["correlation_id"]), (&json!(turn.id), &json!(turn.id)));
    assert_eq!((&row["inbox_id"], &row["channel_id"]), (&json!(turn.inbox), &json!("private")));
    let mut names: Vec<_> = row["payload"].as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["context_box_id", "display_name", "output_box_id", "profile_box_id", "runtime_config"]
    );
    assert!(!row.to_string().contains("do it"), "pointers only");
    let edges = api.items(&format!("state/execution/edges?agent_turn_id={}", turn.id)).await;
    assert_eq!(edges.len(), 1, "DP-01: exactly one edge");
    let edge = &edges[0];
    assert_eq!((&edge["primitive"], &edge["edge_phase"]), (&json!("enqueue"), &json!("request")));
    assert_eq!((&edge["correlation_id"], &edge["target_agent_id"]), (&json!(turn.id), &json!("a1")));
    assert_eq!((&edge["source_agent_id"], &edge["parent_step_id"]), (&json!("boss"), &json!("step_1")));
    assert_eq!((&edge["depth"], &edge["trace_id"]), (&json!(0), &json!("trace 1")));
    assert_eq!(edge["metadata"]["inbox_id"], json!(turn.inbox));
}

/// DP-09, NF-10: epochs [1, null, null], then 2.
async fn turns_wait_behind_each_other_in_order(api: Api) {
    let mut turns = vec![];
    for _ in 0..3 {
        turns.push(api.dispatch("a1").await);
    }
    let epochs: Vec<_> = turns.iter().map(|turn| turn.epoch.clone()).collect();
    assert_eq!(epochs, [json!(1), Value::Null, Value::Null]);
    assert_eq!(api.head("a1").await["queued"], 2);
    for (place, epoch) in [(0, 1), (1, 2), (2, 3)] {
        let head = api.head("a1").await;
        assert_eq!((&head["status"], &head["turn_epoch"]), (&json!("dispatched"), &json!(epoch)));
        assert_eq!(head["active_agent_turn_id"], json!(turns[place].id));
        let leases = api.claim().await;
        assert_eq!(leases.len(), 1, "one live turn per agent");
        api.verb(&leases[0], ":start", json!({})).await.expect(200);
        api.finish(&leases[0], "success").await;
    }
    let head = api.head("a1").await;
    assert_eq!(
        (&head["status"], &head["turn_epoch"], &head["queued"]),
        (&json!("idle"), &json!(3), &json!(0))
    );
    let mut body = api.order("a2", json!({})).await;
    api.send_turn(&body).await.expect(201);
    body["queue_if_busy"] = json!(false);
    let reply = api.send_turn(&body).await;
    refused(&reply, 409, "busy", "agent_busy");
    assert_eq!(reply.json()["agent_id"], "a2");
    assert!(reply.json()["agent_turn_id"].is_null());
    let named = format!("turn_{}", crate::support::NOBODY);
    (body["agent_turn_id"], body["trace_id"]) = (json!(named), json!("t1"));
    let reply = api.send_turn(&body).await;
    refused(&reply, 409, "busy", "agent_busy");
    let answer = reply.json();
    assert_eq!((&answer["agent_turn_id"], &answer["trace_id"]), (&json!(named), &json!("t1")));
    // Errors that are no answer to a dispatch have neither.
    let other = api.get("/projects/p1/turns/x").await.expect(400);
    assert!(other.get("agent_turn_id").is_none() && other.get("trace_id").is_none(), "{other}");
}

/// DP-09, WD-01: 3 if the first was reaped.
async fn the_epoch_rises_once_more_after_a_reap(api: Api) {
    let first = api.running("a1").await;
    let second = api.dispatch("a1").await;
    assert_eq!(api.tick(301).await, [("reap".to_owned(), first.turn.clone())]);
    let head = api.head("a1").await;
    assert_eq!((&head["turn_epoch"], &head["active_agent_turn_id"]), (&json!(3), &json!(second.id)));
    assert_eq!(api.turn(&first.turn).await["status"], "failed");
}

/// DP-10: the same request under the same name is one turn.
async fn a_repeated_dispatch_gets_the_first_answer(api: Api) {
    let body = api.order("a1", json!({ "correlation_id": "order 7" })).await;
    let first = api.send_turn(&body).await.expect(201);
    assert!(first.get("idempotent").is_none());
    let before = api.everything().await;
    let again = api.send_turn(&body).await.expect(200);
    assert_eq!(again["idempotent"], true);
    for name in ["agent_turn_id", "inbox_id", "turn_epoch", "output_box_id", "status"] {
        assert_eq!(again[name], first[name], "{name}");
    }
    assert_eq!(api.everything().await, before);
    let mut other = body.clone();
    other["display_name"] = json!("another");
    refused(&api.send_turn(&other).await, 409, "rejected", "duplicate_correlation");
    assert_eq!(api.everything().await, before);
}

/// DP-10, X-12
async fn a_correlation_stands_for_one_request(api: Api) {
    let id = format!("turn_{}", crate::support::NOBODY);
    let body = api.order("a1", json!({ "agent_turn_id": id })).await;
    let first = api.send_turn(&body).await.expect(201);
    assert_eq!(first["agent_turn_id"], json!(id));
    assert_eq!(api.turn(&id).await["correlation_id"], json!(id), "it defaults to the turn's id");
    api.send_turn(&body).await.expect(200);
    let mut other = api.order("a2", json!({ "agent_turn_id": id })).await;
    refused(&api.send_turn(&other).await, 409, "rejected", "duplicate_correlation");
    other["correlation_id"] = json!("something else");
    refused(&api.send_turn(&other).await, 409, "rejected", "duplicate_correlation");
    // Another project's names are its own.
    let profile = api.profile("p2").await;
    let agent = json!({ "agent_id": "a1", "profile_name": "Helper" });
    api.post("/projects/p2/agents", agent).await.expect(201);
    let context = api.make_box("p2", &[]).await;
    let body = json!({
        "agent_id": "a1", "agent_turn_id": id, "profile_box_id": profile, "context_box_id": context,
    });
    api.post("/projects/p2/l0/turns", body).await.expect(201);
}

/// DP-12
async fn a_lease_is_told_once_and_a_queued_turn_is_not(api: Api) {
    let first = api.dispatch("a1").await;
    api.dispatch("a1").await;
    api.dispatch_with("a2", json!({ "emit_state_event": false })).await;
    let told = api.told("agent.state").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["status"], &told[0]["turn_epoch"]), (&json!("dispatched"), &json!(1)));
    assert_eq!(
        (&told[0]["agent_turn_id"], &told[0]["output_box_id"]),
        (&json!(first.id), &json!(first.output))
    );
}

/// DP-13, NF-02
async fn concurrent_dispatches_lease_one_turn(api: Api) {
    let mut orders = vec![];
    for _ in 0..12 {
        orders.push(api.order("a1", json!({})).await);
    }
    let replies = futures_util::future::join_all(orders.iter().map(|order| api.send_turn(order))).await;
    let epochs: Vec<_> = replies.iter().map(|reply| reply.expect(201)["turn_epoch"].clone()).collect();
    let leased: Vec<_> = epochs.iter().filter(|epoch| !epoch.is_null()).collect();
    assert_eq!(leased, [&json!(1)]);
    let turns: HashSet<_> = replies.iter().map(|reply| reply.json()["agent_turn_id"].to_string()).collect();
    assert_eq!(turns.len(), 12);
    assert_eq!(api.head("a1").await["queued"], 11);
}

/// DP-02, OB-06: the body, then the message it came by, then the request.
async fn the_trace_is_the_one_that_was_named_first(api: Api) {
    let (own, sent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c");
    let traceparent = |trace: &str| format!("00-{trace}-00f067aa0ba902b7-01");
    let bearer = format!("Bearer {}", api.admin);
    let own_parent = traceparent(own);
    let dispatch = async |more: Value| {
        let body = api.order("a1", more).await.to_string();
        let headers = [("authorization", bearer.as_str()), ("traceparent", own_parent.as_str())];
        let answer = api.request("POST", "/projects/p1/l0/turns", &headers, body).await.expect(201);
        answer["trace_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(dispatch(json!({})).await, own);
    let headers = json!({ "Traceparent": traceparent(sent), "other": "x" });
    assert_eq!(dispatch(json!({ "headers": headers })).await, sent);
    assert_eq!(dispatch(json!({ "headers": headers, "trace_id": "mine" })).await, "mine");
    assert_eq!(dispatch(json!({ "headers": { "traceparent": "nonsense" } })).await, own);
}
