//! `Idempotency-Key` (API-16).

use crate::support::{Api, on_both, on_sqlite, report_body};
use cardwire_api::{ENDPOINTS, Op};
use serde_json::{Value, json};

on_both! {
    concurrent_repeats_do_it_once;
}

on_sqlite! {
    every_creating_post_gives_the_first_answer_again;
    a_repeated_request_does_nothing_again;
    keys_of_different_callers_never_meet;
    bad_keys_are_refused;
}

async fn keyed(api: &Api, token: &str, key: &str, path: &str, body: &Value) -> crate::support::Reply {
    let headers = [("authorization", format!("Bearer {token}")), ("idempotency-key", key.to_owned())];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    api.request("POST", path, &headers, body.to_string()).await
}

async fn every_creating_post_gives_the_first_answer_again(api: Api) {
    let ids = api.cards("p1", 3).await;
    let box_id = api.make_box("p1", &ids[..1]).await;
    api.profile("p1").await;
    let mut covered = 0;
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.repeatable) {
        covered += 1;
        // An agent of its own for each, with a turn in the state that the endpoint needs.
        let agent = format!("agent-{covered}");
        let leased =
            if endpoint.op == Op::StartTurn { api.leased(&agent).await } else { api.running(&agent).await };
        if endpoint.op == Op::ReportTool {
            api.verb(&leased, ":suspend", json!({ "waiting_tool_call_ids": ["c1", "c2"] })).await.expect(200);
        }
        let path = endpoint
            .path
            .replace("{project_id}", "p1")
            .replace("{box_id}", &box_id)
            .replace("{tool}", "provision_agent")
            .replace("{session_id}", "talk")
            .replace("{team_name}", "crew")
            .replace("{agent_turn_id}", &leased.turn);
        let (body, other) = match endpoint.path {
            "/projects/{project_id}/agents" => (
                json!({ "agent_id": "new", "profile_name": "Helper" }),
                json!({ "agent_id": "other", "profile_name": "Helper" }),
            ),
            "/projects/{project_id}/l0/turns" => {
                (api.order("new-1", json!({})).await, api.order("new-2", json!({})).await)
            }
            "/projects/{project_id}/l0/reports" => (
                report_body(&leased, "c1", &json!({ "result": 1 })),
                report_body(&leased, "c2", &json!({ "result": 1 })),
            ),
            "/projects/{project_id}/turns/{agent_turn_id}:stop" => (json!({}), json!({ "reason": "x" })),
            "/projects/{project_id}/turns/{agent_turn_id}:fork" => {
                (json!({ "at": "1" }), json!({ "at": "1", "model": "another" }))
            }
            path if path.contains("{agent_turn_id}") => {
                let body = turn_body(endpoint.op);
                let mut other = body.clone();
                other["turn_epoch"] = json!(9);
                (body, other)
            }
            "/projects/{project_id}/pmo/pack_context" => {
                let body = |suffix: &str| {
                    let handover = json!({ "target_profile_config": { "profile_name": "Helper" } });
                    json!({ "tool_suffix": suffix, "handover": handover })
                };
                (body("a"), body("b"))
            }
            "/projects/{project_id}/pmo/{tool}:call" => {
                let body = |id: &str| json!({ "caller_agent_id": agent, "args": { "agent_id": id, "profile_name": "Helper" } });
                (body("made-1"), body("made-2"))
            }
            "/projects/{project_id}/knowledge" => (
                json!({ "source_id": "a.md", "text": "a boat" }),
                json!({ "source_id": "a.md", "text": "another boat" }),
            ),
            "/projects/{project_id}/sessions/{session_id}/experience" => {
                (json!({ "feedback": { "stars": 1 } }), json!({ "feedback": { "stars": 2 } }))
            }
            "/projects/{project_id}/sessions/{session_id}/patches" => (
                json!({ "messages": { "append": [{ "role": "human", "content": "hi" }] } }),
                json!({ "messages": { "append": [{ "role": "human", "content": "ho" }] } }),
            ),
            "/projects/{project_id}/sessions/{session_id}:compact" => {
                let said = |n: u32| json!({ "role": if n.is_multiple_of(2) { "human" } else { "ai" }, "content": format!("say {n}") });
                let talk = json!({ "messages": { "append": (0..6).map(said).collect::<Vec<_>>() } });
                api.post("/projects/p1/sessions/talk/patches", talk).await.expect(200);
                (
                    json!({ "summary": "They talked.", "min_keep_entries": 1 }),
                    json!({ "summary": "They were silent.", "min_keep_entries": 1 }),
                )
            }
            "/projects/{project_id}/sessions/{session_id}:restore" => {
                let checkpoints = api.items("sessions/talk/checkpoints").await;
                let to = |place: usize| json!({ "checkpoint_id": checkpoints[place]["checkpoint_id"] });
                (to(0), to(1))
            }
            "/projects/{project_id}/sessions/{session_id}/experience:save" => {
                (json!({ "feedback": "good" }), json!({ "feedback": "bad" }))
            }
            "/projects/{project_id}/teams/{team_name}:run" => {
                let profile = json!({ "system_prompt": "x" });
                let team = json!({ "process": "dynamic", "agents": [{ "id": "solo", "profile": profile }] });
                api.with(&api.admin, "PUT", "/projects/p1/teams/crew", &team.to_string()).await.expect(201);
                (json!({ "query": "a" }), json!({ "query": "b" }))
            }
            "/projects/{project_id}/handoffs" => {
                let body = |about: &str| {
                    json!({
                        "handoff_type": "init_to_execute", "timestamp": "2026-01-04T10:30:00",
                        "user_requirement": about, "design_artifacts": { "rules": "rules.md" },
                    })
                };
                (body("a"), body("b"))
            }
            "/projects" => (json!({ "project_id": "k1" }), json!({ "project_id": "k2" })),
            "/tokens" => (json!({ "scopes": ["read"] }), json!({ "scopes": ["work"] })),
            "/projects/{project_id}/l0/cards" => (
                json!({ "content": 1, "metadata": { "type": "x" } }),
                json!({ "content": 2, "metadata": { "type": "x" } }),
            ),
            "/projects/{project_id}/l0/boxes/{box_id}:fork" => (json!({ "upto": 1 }), json!({ "upto": 0 })),
            _ => (json!({ "card_ids": [ids[1]] }), json!({ "card_ids": [ids[2]] })),
        };
        let first = keyed(&api, &api.admin, "k", &path, &body).await;
        assert!(first.status.is_success(), "{path}: {}", first.json());
        let again = keyed(&api, &api.admin, "k", &path, &body).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()), "{path}");
        keyed(&api, &api.admin, "k", &path, &other).await.expect_error(409, "conflict");
        // The same key is another request's in the next round.
        api.store.forget_answers(cardwire_model::Timestamp::from_micros(i64::MAX)).await.unwrap();
    }
    assert!(covered >= 22);
}

/// Where the second answer would read like the first, or where it is made again from the first.
async fn a_repeated_request_does_nothing_again(api: Api) {
    let said = json!([{ "role": "human", "content": "a" }, { "role": "ai", "content": "b" }]);
    let talk = "/projects/p1/sessions/talk";
    let patch = json!({ "messages": { "append": said } });
    api.post(&format!("{talk}/patches"), patch.clone()).await.expect(200);
    let version = async || api.get(talk).await.expect(200)["version"].clone();
    // There is nothing to cover, and whoever asks again is told so although there is by then.
    let compact = json!({ "summary": "x", "min_keep_entries": 2 });
    let path = format!("{talk}:compact");
    let first = keyed(&api, &api.admin, "nothing", &path, &compact).await.expect(200);
    assert_eq!(first["compacted"], false);
    api.post(&format!("{talk}/patches"), patch).await.expect(200);
    assert_eq!(keyed(&api, &api.admin, "nothing", &path, &compact).await.expect(200), first);
    assert_eq!(keyed(&api, &api.admin, "now", &path, &compact).await.expect(200)["compacted"], true);
    let (path, body) = (format!("{talk}/experience:save"), json!({ "feedback": "good" }));
    let first = keyed(&api, &api.admin, "save", &path, &body).await.expect(200);
    let before = version().await;
    assert_eq!(keyed(&api, &api.admin, "save", &path, &body).await.expect(200), first);
    assert_eq!(version().await, before, "saved once");
    // A call is composed once; its answer is rendered again, also when the turn is over.
    let leased = api.running("a1").await;
    let (path, body) = (leased.path("/calls"), json!({ "turn_epoch": 1, "model": "gpt-4o" }));
    let first = keyed(&api, &api.admin, "call", &path, &body).await.expect(201);
    assert_eq!(keyed(&api, &api.admin, "call", &path, &body).await.expect(201), first);
    let other = json!({ "turn_epoch": 1, "model": "gpt-4" });
    keyed(&api, &api.admin, "call", &path, &other).await.expect_error(409, "conflict");
    assert_eq!(api.items("state/steps").await.len(), 1);
    api.finish(&leased, "success").await;
    assert_eq!(keyed(&api, &api.admin, "call", &path, &body).await.expect(201), first);
    keyed(&api, &api.admin, "call", &path, &other).await.expect_error(409, "conflict");
    keyed(&api, &api.admin, "late", &path, &body).await.expect_error(409, "stale_turn");
}

/// What the holder of a turn may say, for each verb.
#[allow(clippy::wildcard_enum_match_arm, reason = "most endpoints are no verbs")]
fn turn_body(op: Op) -> Value {
    let mut body = match op {
        Op::AppendTurnCards => json!({ "content": "x", "metadata": { "type": "agent.thought" } }),
        Op::TakeStep => json!({ "phase": "x" }),
        Op::SuspendTurn => json!({ "waiting_tool_call_ids": ["c"] }),
        Op::FinishTurn => json!({ "status": "success", "deliverable": "x" }),
        Op::ComposeCall => json!({ "model": "gpt-4o" }),
        _ => json!({}),
    };
    body["turn_epoch"] = json!(1);
    body
}

async fn concurrent_repeats_do_it_once(api: Api) {
    let body = json!({ "content": "once", "metadata": { "type": "x" } });
    let asks = (0..20).map(|_| keyed(&api, &api.admin, "same", "/projects/p1/l0/cards", &body));
    let replies = futures_util::future::join_all(asks).await;
    let first = replies[0].json();
    assert!(replies.iter().all(|reply| reply.status == 201 && reply.json() == first));
    assert_eq!(api.store.scan_cards(&"p1".parse().unwrap(), None, 10).await.unwrap().len(), 1);
}

async fn keys_of_different_callers_never_meet(api: Api) {
    let other = api.token(json!({ "scopes": ["operate"] })).await;
    let body = json!({ "content": "x", "metadata": { "type": "x" } });
    let mine = keyed(&api, &api.admin, "k", "/projects/p1/l0/cards", &body).await.expect(201);
    let theirs = keyed(&api, &other, "k", "/projects/p1/l0/cards", &body).await.expect(201);
    assert_ne!(mine["card_id"], theirs["card_id"]);
    let elsewhere = keyed(&api, &api.admin, "k", "/projects/p2/l0/cards", &body).await.expect(201);
    assert_ne!(mine["card_id"], elsewhere["card_id"]);
}

/// SEC-07: n and n + 1.
async fn bad_keys_are_refused(api: Api) {
    let body = json!({ "content": "x", "metadata": { "type": "x" } });
    keyed(&api, &api.admin, &"k".repeat(255), "/projects/p1/l0/cards", &body).await.expect(201);
    for bad in [&"k".repeat(256), "", "a b"] {
        keyed(&api, &api.admin, bad, "/projects/p1/l0/cards", &body).await.expect_error(400, "bad_request");
    }
}
