//! Bad input to sessions: a 4xx that names the field, and nothing written (SEC-07, SEC-08, API-06).

use crate::support::{Api, names, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};

on_sqlite! {
    bad_patches_are_refused_and_leave_nothing;
    bad_names_are_refused_everywhere;
    a_patch_takes_a_thousand_items;
    other_bad_bodies_are_refused;
}

async fn bad_patches_are_refused_and_leave_nothing(api: Api) {
    api.say("s", &[("m1", "human", "hi")]).await;
    let before = (api.session("s").await, api.everything().await);
    let said = json!([{ "role": "human", "content": "x" }]);
    for (body, field) in [
        (json!({ "expected_version": -1 }), "expected_version"),
        (json!({ "expected_version": "1" }), "expected_version"),
        (json!({ "messages": {} }), "messages"),
        (json!({ "messages": { "append": said, "replace": said } }), "messages"),
        (json!({ "messages": { "prepend": said } }), "messages/prepend"),
        (json!({ "messages": said }), "messages"),
        (json!({ "messages": { "append": {} } }), "messages/append"),
        (
            json!({ "messages": { "append": [{ "role": "human", "content": "a\u{0}" }] } }),
            "messages/append/0/content",
        ),
        (json!({ "messages": { "append": [{ "role": "boss", "content": "x" }] } }), "messages/append/0/role"),
        (
            json!({ "messages": { "append": [{ "role": "human", "content": "x", "metadata": [] }] } }),
            "messages/append/0/metadata",
        ),
        (json!({ "mapreduce_results": {} }), "mapreduce_results"),
        (json!({ "mapreduce_results": { "reset": false } }), "mapreduce_results/reset"),
        (json!({ "mapreduce_results": { "reset": true, "append": [] } }), "mapreduce_results"),
        (json!({ "mapreduce_results": { "append": [7] } }), "mapreduce_results/append/0"),
        (json!({ "mapreduce_results": { "append": [{}] } }), "mapreduce_results/append/0/task_id"),
        (
            json!({ "mapreduce_results": { "append": [{ "task_id": " " }] } }),
            "mapreduce_results/append/0/task_id",
        ),
        (json!({ "mapreduce_results": { "append": {} } }), "mapreduce_results/append"),
        (json!({ "timeline": {} }), "timeline/append"),
        (json!({ "timeline": { "append": "x" } }), "timeline/append"),
        (json!({ "timeline": { "append": ["a\u{0}"] } }), "timeline/append/0"),
        (json!({ "todo": [] }), "todo"),
        (json!({ "todo": "x" }), "todo"),
        (json!({ "set": [] }), "set"),
        (json!({ "set": { "goal": "a\u{0}" } }), "set/goal"),
        (json!({ "set": { "deliverable_keys": "a" } }), "set/deliverable_keys"),
        (json!({ "set": { "goal": 5 } }), "set/goal"),
        (json!({ "set": { "active_agent": ["x"] } }), "set/active_agent"),
        (json!({ "set": { "last_agent_error": {} } }), "set/last_agent_error"),
        (json!({ "set": { "error_retry_count": "x" } }), "set/error_retry_count"),
        (json!({ "set": { "error_retry_count": -1 } }), "set/error_retry_count"),
        (json!({ "set": { "error_retry_count": 0.5 } }), "set/error_retry_count"),
        (json!({ "set": { "mapreduce_tasks": "x" } }), "set/mapreduce_tasks"),
        (json!({ "set": { "mapreduce_task": 1 } }), "set/mapreduce_task"),
        (json!({ "set": { "plan": true } }), "set/plan"),
        (json!({ "set": { "goal": "g", "reflection": 7 } }), "set/reflection"),
        (json!({ "finish_agent": { "status": "x" } }), "finish_agent/agent_id"),
        (json!({ "finish_agent": { "agent_id": "a" } }), "finish_agent/status"),
        (json!({ "finish_agent": { "agent_id": "a b", "status": "x" } }), "finish_agent/agent_id"),
        (json!({ "finish_agent": { "agent_id": "a", "status": " " } }), "finish_agent/status"),
        (
            json!({ "finish_agent": { "agent_id": "a", "status": "x", "error": "\u{0}" } }),
            "finish_agent/error",
        ),
        (json!({ "finish_agent": { "agent_id": "a", "status": "x", "result": 1 } }), "finish_agent/result"),
        (json!({ "goal": "x" }), "goal"),
    ] {
        let reply = api.patch("s", body.clone()).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.json());
        names(&reply, "bad_request", field);
    }
    for body in ["[]", "{", "\"x\"", "null", r#"{"set":{"goal":1,"goal":2}}"#] {
        api.post_raw("/projects/p1/sessions/s/patches", body).await.expect_error(400, "bad_request");
    }
    assert_eq!((api.session("s").await, api.everything().await), before, "nothing was written");
}

async fn bad_names_are_refused_everywhere(api: Api) {
    let paths = |session: &str, query: &str| {
        let path = |rest: &str| format!("/projects/p1/sessions/{session}{rest}{query}");
        [
            ("GET", path(""), json!({})),
            ("DELETE", path(""), json!({})),
            ("POST", path("/patches"), json!({})),
            ("POST", path(":compact"), json!({ "summary": "x" })),
            ("GET", path("/checkpoints"), json!({})),
            ("POST", path(":restore"), json!({ "checkpoint_id": crate::support::NOBODY })),
            ("POST", path("/context:collect"), json!({})),
            ("GET", path("/experience"), json!({})),
            ("POST", path("/experience"), json!({})),
            ("POST", path("/experience:save"), json!({})),
        ]
    };
    let before = api.everything().await;
    for name in ["a.b", "a%20b", "%00", "*", &"a".repeat(129)] {
        for (method, path, body) in paths(name, "") {
            let reply = api.with(&api.admin, method, &path, &body.to_string()).await;
            names(&reply, "bad_request", "session_id");
        }
        let query = format!("?namespace={name}");
        for (method, path, body) in paths("s", &query) {
            let reply = api.with(&api.admin, method, &path, &body.to_string()).await;
            names(&reply, "bad_request", "namespace");
        }
        names(&api.get(&format!("/projects/p1/sessions{query}")).await, "bad_request", "namespace");
    }
    for (path, field) in [
        ("sessions?cursor=a.b", "cursor"),
        ("sessions?limit=x", "limit"),
        ("sessions?order=name", "order"),
        ("sessions/s/checkpoints?cursor=x", "cursor"),
    ] {
        names(&api.get(&format!("/projects/p1/{path}")).await, "bad_request", field);
    }
    assert_eq!(api.everything().await, before);
}

/// SEC-07: n and n + 1.
async fn a_patch_takes_a_thousand_items(api: Api) {
    let many = |count: usize, one: Value| json!({ "append": vec![one; count] });
    for (list, one) in [("messages", json!({ "role": "human", "content": "x" })), ("timeline", json!(1))] {
        let patch = |count: usize| json!({ list: many(count, one.clone()) });
        api.patch("s", patch(limits::PATCH_ITEMS)).await.expect(200);
        api.patch("s", patch(limits::PATCH_ITEMS + 1)).await.expect_error(413, "too_large");
    }
}

async fn other_bad_bodies_are_refused(api: Api) {
    api.say("s", &[("m1", "human", "hi"), ("m2", "ai", "hello")]).await;
    let before = api.everything().await;
    for (path, body, field) in [
        (":compact", json!({ "min_keep_entries": -1 }), "min_keep_entries"),
        (":compact", json!({ "min_keep_entries": "5" }), "min_keep_entries"),
        (":compact", json!({ "summary": 7 }), "summary"),
        (":compact", json!({ "summary": "a\u{0}" }), "summary"),
        (":compact", json!({ "keep": 5 }), "keep"),
        (":restore", json!({}), "checkpoint_id"),
        (":restore", json!({ "checkpoint_id": 7 }), "checkpoint_id"),
        (":restore", json!({ "checkpoint_id": "x" }), "checkpoint_id"),
        ("/experience", json!({ "nope": 1 }), "nope"),
        ("/experience", json!({ "goal": 7 }), "goal"),
        ("/experience", json!({ "outcome": "great" }), "outcome"),
        ("/experience", json!({ "tools": "x" }), "tools"),
        ("/experience", json!({ "agents": ["a", 7] }), "agents/1"),
        ("/experience", json!({ "duration_ms": -1 }), "duration_ms"),
        ("/experience", json!({ "session_id": "other" }), "session_id"),
        ("/experience", json!({ "knowledge_refs": [{ "chunk_id": "c" }] }), "knowledge_refs/0/source_id"),
        ("/experience:save", json!({ "feedback": 7 }), "feedback"),
        ("/experience:save", json!({ "stars": 5 }), "stars"),
    ] {
        let reply = api.post(&format!("/projects/p1/sessions/s{path}"), body.clone()).await;
        assert_eq!(reply.status, 400, "{path} {body}");
        names(&reply, "bad_request", field);
    }
    for path in ["/experience", ":compact", "/experience:save"] {
        api.post_raw(&format!("/projects/p1/sessions/s{path}"), "[]").await.expect_error(400, "bad_request");
    }
    assert_eq!(api.everything().await, before);
}
