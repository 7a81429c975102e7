//! Waiting for tools and their answers (WK-08, DP-16, NF-05, SEC-08).

use crate::support::{Api, Leased, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    concurrent_answers_resume_the_turn_once;
}

on_sqlite! {
    a_turn_waits_for_its_tools_and_goes_on;
    a_second_answer_changes_nothing;
    an_answer_that_ends_the_turn;
    a_tool_that_ends_turns_ends_them_without_being_told;
    a_success_says_what_came_out;
    nothing_inside_a_result_has_power;
    an_answer_may_be_a_card_that_is_there;
    an_answer_must_fit_its_call;
    a_turn_cannot_name_what_another_turn_has_written;
    what_is_answered_before_is_not_waited_for;
    every_call_has_its_answer_when_the_turn_ends;
}

/// Writes a card that makes these tool calls.
async fn call(api: &Api, leased: &Leased, ids: &[&str]) {
    let calls: Vec<_> =
        ids.iter().map(|id| json!({ "id": id, "function": { "name": "look", "arguments": "{}" } })).collect();
    let body = json!({ "content": "", "metadata": { "type": "agent.thought" }, "tool_calls": calls });
    api.verb(leased, "/cards", body).await.expect(200);
}

async fn suspend(api: &Api, leased: &Leased, ids: &[&str]) -> Value {
    let body = json!({ "waiting_tool_call_ids": ids, "resume_deadline_seconds": 60 });
    api.verb(leased, ":suspend", body).await.expect(200)
}

async fn waiting(api: &Api, agent: &str, ids: &[&str]) -> Leased {
    let leased = api.running(agent).await;
    call(api, &leased, ids).await;
    suspend(api, &leased, ids).await;
    leased
}

/// The ids of the calls that the cards of the output box answer, in order.
async fn answered(api: &Api, leased: &Leased) -> Vec<(String, String)> {
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", leased.output)).await.expect(200);
    let answer = |card: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (card["type"] == "tool.result")
            .then(|| (text(&card["tool_call_id"]), text(&card["content"]["status"])))
    };
    cards.as_array().unwrap().iter().filter_map(answer).collect()
}

/// WK-08
async fn a_turn_waits_for_its_tools_and_goes_on(api: Api) {
    let leased = api.running("a1").await;
    call(&api, &leased, &["c1", "c2"]).await;
    let answer = suspend(&api, &leased, &["c1", "c2", "c1"]).await;
    assert_eq!(answer, json!({ "status": "suspended", "waiting_tool_count": 2 }));
    let head = api.head("a1").await;
    assert_eq!((&head["status"], &head["waiting_tool_count"]), (&json!("suspended"), &json!(2)));
    assert!(head["resume_deadline"].is_string());
    assert!(api.claim().await.is_empty());
    api.verb(&leased, ":start", json!({})).await.expect_error(409, "conflict");
    let first = api.report(&leased, "c1", json!({ "result": { "n": 1 } })).await.expect(200);
    assert_eq!((&first["status"], &first["agent_status"]), (&json!("accepted"), &json!("suspended")));
    assert!(first["inbox_id"].is_string() && first.get("idempotent").is_none());
    assert!(api.claim().await.is_empty(), "one is still to come");
    let worker = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    let body = json!({
        "agent_id": "a1", "agent_turn_id": leased.turn, "turn_epoch": 1, "tool_call_id": "c2",
        "status": "failed", "error": { "code": "boom" }, "author_id": "tool.look",
    });
    api.with(&worker, "POST", "/projects/p1/l0/reports", &body.to_string()).await.expect(200);
    let resumed = &api.claim().await[0];
    assert_eq!((&resumed.lease["kind"], &resumed.lease["status"]), (&json!("resume"), &json!("suspended")));
    assert_eq!((&resumed.turn, resumed.epoch, &resumed.output), (&leased.turn, 1, &leased.output));
    api.verb(resumed, ":start", json!({})).await.expect(200);
    let expected = [("c1".to_owned(), "success".to_owned()), ("c2".to_owned(), "failed".to_owned())];
    assert_eq!(answered(&api, resumed).await, expected);
    api.finish(resumed, "success").await;
    let rows = api.items("state/inbox").await;
    assert_eq!(rows.len(), 3, "the turn and two answers");
    assert!(rows.iter().all(|row| row["status"] == "consumed"), "{rows:?}");
    let edges = api.items("state/execution/edges?correlation_id=c2").await;
    let kinds: Vec<_> = edges.iter().map(|edge| (&edge["primitive"], &edge["edge_phase"])).collect();
    assert_eq!(
        kinds,
        [(&json!("report"), &json!("response")), (&json!("tool_call"), &json!("request"))],
        "newest first"
    );
}

/// DP-16
async fn a_second_answer_changes_nothing(api: Api) {
    let leased = waiting(&api, "a1", &["c1"]).await;
    let first = api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200);
    let before = api.everything().await;
    let again = api.report(&leased, "c1", json!({ "result": 2, "status": "failed" })).await.expect(200);
    assert_eq!(again["idempotent"], true);
    assert_eq!(again["tool_result_card_id"], first["tool_result_card_id"]);
    assert!(again.get("inbox_id").is_none());
    assert_eq!(api.everything().await, before);
    assert_eq!(api.claim().await.len(), 1);
}

/// DP-16, WK-08: single winner.
async fn concurrent_answers_resume_the_turn_once(api: Api) {
    let ids: Vec<String> = (0..6).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let leased = waiting(&api, "a1", &names).await;
    let reports =
        names.iter().flat_map(|id| [id, id]).map(|id| api.report(&leased, id, json!({ "result": 1 })));
    let replies = futures_util::future::join_all(reports).await;
    let fresh = replies.iter().filter(|reply| reply.expect(200).get("idempotent").is_none()).count();
    assert_eq!(fresh, 6);
    let leases = api.claim().await;
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].lease["kind"], "resume");
    assert!(api.claim().await.is_empty());
    assert_eq!(answered(&api, &leased).await.len(), 6);
}

/// WK-08: any terminate ends the turn; the failed one says how.
async fn an_answer_that_ends_the_turn(api: Api) {
    let leased = waiting(&api, "a1", &["c1", "c2"]).await;
    let ends = json!({ "result": "ok", "after_execution": "terminate" });
    let first = api.report(&leased, "c1", ends.clone()).await.expect(200);
    assert_eq!(first["agent_status"], "suspended", "the others are waited for");
    let ends = json!({ "status": "failed", "after_execution": "terminate" });
    let last = api.report(&leased, "c2", ends).await.expect(200);
    assert_eq!(last["agent_status"], "idle");
    let turn = api.turn(&leased.turn).await;
    assert_eq!(turn["status"], "failed");
    assert_eq!(api.told("agent.task").await.len(), 1);
    assert!(api.claim().await.is_empty());
    let id = turn["deliverable_card_id"].as_str().unwrap();
    let card = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
    assert_eq!(card["content"]["tool_result_card_id"], last["tool_result_card_id"]);
}

/// WK-08: the tool's document says it, unless the report says otherwise.
async fn a_tool_that_ends_turns_ends_them_without_being_told(api: Api) {
    let last = json!({ "after_execution": "terminate" });
    api.with(&api.admin, "PUT", "/projects/p1/tools/submit", &last.to_string()).await.expect(201);
    let open = async |agent: &str, tool: &str| {
        let leased = api.running(agent).await;
        let body = json!({
            "content": { "tool_name": tool, "arguments": {} }, "metadata": { "type": "tool.call" },
            "tool_call_id": "c1",
        });
        api.verb(&leased, "/cards", body).await.expect(200);
        suspend(&api, &leased, &["c1"]).await;
        leased
    };
    for (agent, tool, more, status) in [
        ("a1", "submit", json!({ "result": 1 }), "idle"),
        ("a2", "submit", json!({ "result": 1, "after_execution": "suspend" }), "suspended"),
        ("a3", "submit", json!({ "status": "failed", "error": "no" }), "idle"),
        ("a4", "look", json!({ "result": 1 }), "suspended"),
        ("a5", "no tool's name", json!({ "result": 1 }), "suspended"),
    ] {
        let leased = open(agent, tool).await;
        let taken = api.report(&leased, "c1", more).await.expect(200);
        assert_eq!(taken["agent_status"], status, "{agent}");
        let id = taken["tool_result_card_id"].as_str().unwrap();
        let card = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
        let after = if status == "idle" { "terminate" } else { "suspend" };
        assert_eq!(card["content"]["after_execution"], after, "{agent}");
    }
    // A card that lists its calls names its tools, too; a tool that is deleted says nothing.
    let listed = async |agent: &str| {
        let leased = api.running(agent).await;
        let body = json!({
            "content": "", "metadata": { "type": "agent.thought" },
            "tool_calls": [{ "id": "c1", "function": { "name": "submit", "arguments": "{}" } }],
        });
        api.verb(&leased, "/cards", body).await.expect(200);
        suspend(&api, &leased, &["c1"]).await;
        api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200)["agent_status"].clone()
    };
    assert_eq!(listed("b1").await, "idle");
    api.delete("/projects/p1/tools/submit").await.expect(204);
    assert_eq!(listed("b2").await, "suspended");
}

/// DP-16
async fn a_success_says_what_came_out(api: Api) {
    let leased = waiting(&api, "a1", &["c1", "c2", "c3"]).await;
    let before = api.everything().await;
    let reply = api.report(&leased, "c1", json!({})).await;
    reply.expect_error(400, "bad_request");
    assert_eq!(reply.json()["error"]["detail"]["field"], "result");
    assert_eq!(api.everything().await, before, "nothing was written");
    for (call, more) in [
        ("c1", json!({ "result": null })),
        ("c2", json!({ "error": "it worked, but" })),
        ("c3", json!({ "status": "failed" })),
    ] {
        api.report(&leased, call, more).await.expect(200);
    }
}

/// SEC-08
async fn nothing_inside_a_result_has_power(api: Api) {
    let leased = waiting(&api, "a1", &["c1"]).await;
    let control = json!({
        "__cg_control": { "after_execution": "terminate" }, "after_execution": "terminate", "status": "failed",
    });
    let taken = api.report(&leased, "c1", json!({ "result": control })).await.expect(200);
    assert_eq!(taken["agent_status"], "suspended");
    let id = taken["tool_result_card_id"].as_str().unwrap();
    let card = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
    assert_eq!(card["content"]["result"], control, "kept as it is");
    assert_eq!(
        (&card["content"]["status"], &card["content"]["after_execution"]),
        (&json!("success"), &json!("suspend"))
    );
    assert_eq!(card["origin"], "tool");
    assert_eq!(api.claim().await[0].lease["kind"], "resume");
}

/// DP-16: a `tool.result` of the same call, by whoever reports it.
async fn an_answer_may_be_a_card_that_is_there(api: Api) {
    let leased = waiting(&api, "a1", &["c1"]).await;
    let put = async |kind: &str, call: &str| {
        let content =
            json!({ "status": "success", "after_execution": "suspend", "result": 1, "error": null });
        let body = json!({
            "content": content, "metadata": { "type": kind, "author_id": "tool.look" }, "tool_call_id": call,
        });
        api.post("/projects/p1/l0/cards", body).await.expect(201)["card_id"].clone()
    };
    let (right, other_kind, other_call) =
        (put("tool.result", "c1").await, put("custom.x", "c1").await, put("tool.result", "c2").await);
    let before = api.everything().await;
    for (more, status, code) in [
        (json!({ "tool_result_card_id": other_kind }), 400, "bad_request"),
        (json!({ "tool_result_card_id": other_call }), 400, "bad_request"),
        (json!({ "tool_result_card_id": right, "author_id": "somebody" }), 400, "bad_request"),
        (json!({ "tool_result_card_id": crate::support::NOBODY }), 404, "not_found"),
        (json!({ "tool_result_card_id": right, "result": 1 }), 400, "bad_request"),
        (json!({ "tool_result_card_id": right, "status": "failed" }), 400, "bad_request"),
    ] {
        api.report(&leased, "c1", more).await.expect_error(status, code);
    }
    assert_eq!(api.everything().await, before);
    let more = json!({ "tool_result_card_id": right, "author_id": "tool.look" });
    assert_eq!(api.report(&leased, "c1", more).await.expect(200)["tool_result_card_id"], right);
    assert_eq!(json!(api.shown("p1", &leased.output).await.last()), right);
}

/// DP-16: no request, no answer.
async fn an_answer_must_fit_its_call(api: Api) {
    let leased = waiting(&api, "a1", &["c1"]).await;
    let before = api.everything().await;
    let reply = api.report(&leased, "c9", json!({ "result": 1 })).await;
    reply.expect_error(400, "protocol_violation");
    let body = reply.json();
    assert_eq!((&body["status"], &body["agent_id"]), (&json!("rejected"), &json!("a1")));
    api.report(&leased, "c1", json!({ "agent_id": "a2", "result": 1 }))
        .await
        .expect_error(400, "bad_request");
    assert_eq!(api.everything().await, before);
}

/// WK-08
async fn what_is_answered_before_is_not_waited_for(api: Api) {
    let leased = api.running("a1").await;
    call(&api, &leased, &["c1"]).await;
    let early = api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200);
    assert_eq!(early["agent_status"], "running");
    let answer = suspend(&api, &leased, &["c1"]).await;
    assert_eq!(answer, json!({ "status": "suspended", "waiting_tool_count": 0 }));
    let resumed = &api.claim_with(json!({ "start": true })).await[0];
    assert_eq!(resumed.lease["kind"], "resume");
    let written = json!({
        "content": { "status": "success", "after_execution": "suspend", "result": 2, "error": null },
        "metadata": { "type": "tool.result" }, "tool_call_id": "c2",
    });
    call(&api, resumed, &["c2"]).await;
    api.verb(resumed, "/cards", written).await.expect(200);
    // Its tools say that it ends, and there is nothing left to wait for.
    call(&api, resumed, &["c3"]).await;
    let ends = json!({ "result": 3, "after_execution": "terminate" });
    api.report(resumed, "c3", ends).await.expect(200);
    let ended = suspend(&api, resumed, &["c3"]).await;
    assert_eq!((&ended["status"], &ended["task_status"]), (&json!("ended"), &json!("success")));
    assert_eq!(api.turn(&leased.turn).await["deliverable_card_id"], ended["deliverable_card_id"]);
}

/// NF-05
async fn every_call_has_its_answer_when_the_turn_ends(api: Api) {
    let leased = api.running("a1").await;
    call(&api, &leased, &["c1", "c2"]).await;
    api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200);
    api.finish(&leased, "success").await;
    let expected = [("c1".to_owned(), "success".to_owned()), ("c2".to_owned(), "canceled".to_owned())];
    assert_eq!(answered(&api, &leased).await, expected);
    let leased = waiting(&api, "a2", &["c1"]).await;
    api.post(&format!("/projects/p1/turns/{}:stop", leased.turn), json!({})).await.expect(200);
    assert_eq!(answered(&api, &leased).await, [("c1".to_owned(), "canceled".to_owned())]);
}

/// X-04, CB-15: knowing the id of a card is not having been given it.
async fn a_turn_cannot_name_what_another_turn_has_written(api: Api) {
    let other = waiting(&api, "a2", &["c1"]).await;
    let answer = api.report(&other, "c1", json!({ "result": "secret" })).await.expect(200);
    let result = answer["tool_result_card_id"].clone();
    let other = api.claim_with(json!({ "start": true })).await.remove(0);
    let body = json!({ "content": "secret", "metadata": { "type": "task.deliverable" } });
    let theirs = api.verb(&other, "/cards", body).await.expect(200)["card_ids"][0].clone();

    let leased = waiting(&api, "a1", &["c1"]).await;
    let before = api.everything().await;
    api.report(&leased, "c1", json!({ "tool_result_card_id": result })).await.expect_error(404, "not_found");
    assert_eq!(api.everything().await, before);
    // Whoever may speak for any turn may name any card.
    let worker = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    let body = json!({
        "agent_id": "a1", "agent_turn_id": leased.turn, "turn_epoch": 1, "tool_call_id": "c1",
        "status": "success", "tool_result_card_id": result,
    });
    api.with(&worker, "POST", "/projects/p1/l0/reports", &body.to_string()).await.expect(200);

    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    let finish = json!({ "status": "success", "deliverable_card_id": theirs });
    api.verb(&leased, ":finish", finish.clone()).await.expect_error(404, "not_found");
    api.finish(&leased, "success").await;
    // What it was given it may hand on.
    let given = json!({ "card_ids": [theirs] });
    let given = api.post("/projects/p1/l0/boxes", given).await.expect(201)["box_id"].clone();
    api.dispatch_with("a1", json!({ "context_box_id": given })).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    assert_eq!(api.verb(&leased, ":finish", finish).await.expect(200)["deliverable_card_id"], theirs);
}
