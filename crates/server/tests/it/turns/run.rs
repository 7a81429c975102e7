//! A turn from claim to end (WK-01, WK-05, WK-06, CB-14).

use crate::support::{Api, on_both, on_sqlite};
use serde_json::json;

on_both! {
    a_turn_end_to_end;
}

on_sqlite! {
    cards_of_a_turn_go_to_its_output_box;
    a_step_is_written_and_changed;
    a_turn_can_end_in_one_request;
    the_deliverable_is_found_or_made;
    a_turn_must_run_to_be_worked_at;
    a_request_takes_a_hundred_cards;
    an_operator_may_speak_for_a_turn;
    a_turn_that_is_started_unclaimed_is_nobody_elses;
}

/// WK-06, NF-04, CB-01, WD-02
async fn a_turn_end_to_end(api: Api) {
    let leased = api.leased("a1").await;
    let started = api.verb(&leased, ":start", json!({})).await.expect(200);
    assert_eq!(started, json!({ "agent_turn_id": leased.turn, "turn_epoch": 1, "status": "running" }));
    let head = api.head("a1").await;
    assert_eq!((&head["status"], &head["output_box_id"]), (&json!("running"), &json!(leased.output)));
    assert_eq!(api.verb(&leased, ":heartbeat", json!({})).await.expect(200)["status"], "alive");
    let step =
        api.verb(&leased, "/steps", json!({ "phase": "think", "call_id": "call_1" })).await.expect(201);
    assert!(step["step_id"].as_str().unwrap().starts_with("step_"));
    let thought = api.think(&leased, "42, I think").await;
    let done =
        api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": { "answer": 42 } })).await;
    let done = done.expect(200);
    assert_eq!(done["status"], "success");
    let deliverable = done["deliverable_card_id"].as_str().unwrap();
    assert_eq!(api.shown("p1", &leased.output).await, [thought.as_str(), deliverable]);
    let card = api.get(&format!("/projects/p1/cards/{deliverable}")).await.expect(200);
    assert_eq!((&card["type"], &card["content"]), (&json!("task.deliverable"), &json!({ "answer": 42 })));
    assert_eq!((&card["author_id"], &card["origin"]), (&json!("a1"), &json!("agent")));
    let told = api.told("agent.task").await;
    assert_eq!(told.len(), 1);
    let expected = json!({
        "agent_turn_id": leased.turn, "status": "success", "output_box_id": leased.output,
        "deliverable_card_id": deliverable, "correlation_id": leased.turn, "turn_epoch": 1,
    });
    assert_eq!(told[0], expected);
    let head = api.head("a1").await;
    assert_eq!((&head["status"], &head["turn_epoch"]), (&json!("idle"), &json!(1)));
    for cleared in ["active_agent_turn_id", "context_box_id", "output_box_id", "trace_id", "resume_deadline"]
    {
        assert!(head[cleared].is_null(), "{cleared}: {head}");
    }
    assert_eq!(head["last_output_box_id"], json!(leased.output));
    let turn = api.turn(&leased.turn).await;
    assert_eq!((&turn["status"], &turn["deliverable_card_id"]), (&json!("success"), &json!(deliverable)));
    assert!(turn["ended_at"].is_string() && turn["error"].is_null());
    api.verb(&leased, ":finish", json!({ "status": "success" })).await.expect_error(409, "stale_turn");
    assert_eq!(api.told("agent.task").await.len(), 1);
}

/// CB-14, CB-07, WK-05
async fn cards_of_a_turn_go_to_its_output_box(api: Api) {
    let leased = api.running("a1").await;
    let id = crate::support::NOBODY;
    let cards = json!({ "cards": [
        { "content": "one", "metadata": { "type": "agent.thought" } },
        { "card_id": id, "content": "two", "metadata": { "type": "agent.thought" } },
    ] });
    let answer = api.verb(&leased, "/cards", cards.clone()).await.expect(200);
    assert_eq!((&answer["added"], &answer["card_ids"][1]), (&json!(2), &json!(id)));
    let one = json!({ "card_id": id, "content": "two", "metadata": { "type": "agent.thought" } });
    let again = api.verb(&leased, "/cards", one).await.expect(200);
    assert_eq!(again, json!({ "card_ids": [id], "added": 0 }), "a repeat changes nothing");
    let other = json!({ "card_id": id, "content": "three", "metadata": { "type": "agent.thought" } });
    api.verb(&leased, "/cards", other).await.expect_error(409, "card_conflict");
    let shown = api.shown("p1", &leased.output).await;
    assert_eq!(json!(shown), answer["card_ids"]);
    let events = api.told("box.appended").await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["box_id"], json!(leased.output));
    // Its context is not for writing, whoever asks.
    let context = api.turn(&leased.turn).await["context_box_id"].as_str().unwrap().to_owned();
    let before = api.shown("p1", &context).await;
    let path = format!("/projects/p1/l0/boxes/{context}/cards");
    let body = json!({ "card_ids": [id] });
    api.with(&leased.token, "POST", &path, &body.to_string()).await.expect_error(403, "box_not_writable");
    api.post(&path, body).await.expect_error(409, "box_sealed");
    assert_eq!(api.shown("p1", &context).await, before);
}

/// CB-17, API-17
async fn a_step_is_written_and_changed(api: Api) {
    let leased = api.running("a1").await;
    let request = api.make_box("p1", &[]).await;
    let body = json!({
        "step_id": "step_one", "phase": "plan", "request_box_id": request, "metadata": { "n": 1 },
    });
    assert_eq!(api.verb(&leased, "/steps", body).await.expect(201)["step_id"], "step_one");
    api.think(&leased, "x").await;
    let body = json!({ "step_id": "step_one", "phase": "act", "status": "success", "call_id": "call_9" });
    api.verb(&leased, "/steps", body).await.expect(201);
    let steps = api.items("state/steps").await;
    assert_eq!(steps.len(), 1);
    let step = &steps[0];
    assert_eq!((&step["phase"], &step["status"]), (&json!("act"), &json!("success")));
    assert_eq!((&step["call_id"], &step["output_len"]), (&json!("call_9"), &json!(1)));
    assert_eq!(step["request_box_id"], json!(request), "what is not said stays");
    assert_eq!((&step["agent_turn_id"], &step["turn_epoch"]), (&json!(leased.turn), &json!(1)));
    assert_eq!(api.told("agent.step").await.len(), 2);
    let other = api.running("a2").await;
    let body = json!({ "step_id": "step_one", "phase": "steal" });
    api.verb(&other, "/steps", body).await.expect_error(409, "conflict");
}

/// WK-06: the last cards and the last step come with the finish.
async fn a_turn_can_end_in_one_request(api: Api) {
    let leased = api.running("a1").await;
    let id = crate::support::NOBODY;
    let body = json!({
        "status": "partial", "error": "ran out of time", "error_code": "out_of_time",
        "cards": [
            { "content": "a thought", "metadata": { "type": "agent.thought" } },
            { "card_id": id, "content": "half", "metadata": { "type": "task.deliverable" } },
        ],
        "deliverable_card_id": id,
        "step": { "step_id": "step_last", "phase": "finish" },
    });
    let done = api.verb(&leased, ":finish", body).await.expect(200);
    assert_eq!(done, json!({ "status": "partial", "deliverable_card_id": id }));
    assert_eq!(api.shown("p1", &leased.output).await.len(), 2);
    let turn = api.turn(&leased.turn).await;
    assert_eq!((&turn["error"], &turn["error_code"]), (&json!("ran out of time"), &json!("out_of_time")));
    assert_eq!(api.items("state/steps").await[0]["step_id"], "step_last");
}

/// WK-06, WD-06: every turn ends with a deliverable.
async fn the_deliverable_is_found_or_made(api: Api) {
    let leased = api.running("a1").await;
    let body = json!({ "content": "mine", "metadata": { "type": "task.deliverable" } });
    let written = api.verb(&leased, "/cards", body).await.expect(200)["card_ids"][0].clone();
    let done = api.verb(&leased, ":finish", json!({ "status": "success" })).await.expect(200);
    assert_eq!(done["deliverable_card_id"], written, "the latest the turn has written");
    let leased = api.running("a2").await;
    let thought = api.think(&leased, "no idea").await;
    for (card, status, code) in
        [(thought.as_str(), 400, "bad_request"), (crate::support::NOBODY, 404, "not_found")]
    {
        let body = json!({ "status": "success", "deliverable_card_id": card });
        api.verb(&leased, ":finish", body).await.expect_error(status, code);
    }
    let done = api.verb(&leased, ":finish", json!({ "status": "failed", "error": "lost" })).await.expect(200);
    let id = done["deliverable_card_id"].as_str().unwrap();
    let card = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
    assert_eq!(card["content"]["kind"], "fallback_deliverable");
    assert_eq!(card["content"]["diagnostics"]["last_agent_thought"], "no idea");
    assert_eq!(card["content"]["diagnostics"]["terminal_status"], "failed");
}

/// WK-01
async fn a_turn_must_run_to_be_worked_at(api: Api) {
    let leased = api.leased("a1").await;
    for (verb, body) in [
        ("/cards", json!({ "content": "x", "metadata": { "type": "x" } })),
        ("/steps", json!({ "phase": "x" })),
        (":suspend", json!({ "waiting_tool_call_ids": ["c"] })),
        (":finish", json!({ "status": "success" })),
    ] {
        api.verb(&leased, verb, body).await.expect_error(409, "conflict");
    }
    assert!(api.shown("p1", &leased.output).await.is_empty());
    api.verb(&leased, ":heartbeat", json!({})).await.expect(200);
    api.verb(&leased, ":start", json!({})).await.expect(200);
    api.verb(&leased, ":start", json!({})).await.expect(200);
    assert_eq!(api.told("agent.state").await.len(), 2, "dispatched, running");
}

/// SEC-07: n and n + 1.
async fn a_request_takes_a_hundred_cards(api: Api) {
    let leased = api.running("a1").await;
    let cards = |count: usize| {
        let card = json!({ "content": "x", "metadata": { "type": "agent.thought" } });
        json!({ "cards": vec![card; count] })
    };
    assert_eq!(api.verb(&leased, "/cards", cards(100)).await.expect(200)["added"], 100);
    api.verb(&leased, "/cards", cards(101)).await.expect_error(413, "too_large");
    assert_eq!(api.shown("p1", &leased.output).await.len(), 100);
}

/// DP-15, W-06: a claim leaves the row of a turn alone that an operator has started by itself, so that a stop finds it.
async fn a_turn_that_is_started_unclaimed_is_nobody_elses(api: Api) {
    let turn = api.dispatch("a1").await;
    let started =
        api.post(&format!("/projects/p1/l0/turns/{}:start", turn.id), json!({ "turn_epoch": 1 })).await;
    started.expect(200);
    assert!(api.claim().await.is_empty());
    assert_eq!(api.items("state/inbox").await[0]["status"], "processing");
    api.post(&format!("/projects/p1/turns/{}:stop", turn.id), json!({})).await.expect(200);
    assert_eq!(api.turn(&turn.id).await["error"], "stopped");
    assert_eq!(api.told("agent.task").await.len(), 1);
}

/// SEC-02, CB-19: an operator, with the same fence.
async fn an_operator_may_speak_for_a_turn(api: Api) {
    let leased = api.leased("a1").await;
    let operator = api.token(json!({ "project_id": "p1", "scopes": ["operate"] })).await;
    let worker = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    let say = async |token: &str, verb: &str, body: serde_json::Value| {
        api.with(token, "POST", &leased.path(verb), &body.to_string()).await
    };
    say(&worker, ":start", json!({ "turn_epoch": 1 })).await.expect_error(403, "forbidden");
    say(&operator, ":start", json!({ "turn_epoch": 2 })).await.expect_error(409, "stale_turn");
    say(&operator, ":start", json!({ "turn_epoch": 1 })).await.expect(200);
    let done = json!({ "turn_epoch": 1, "status": "canceled" });
    assert_eq!(say(&operator, ":finish", done).await.expect(200)["status"], "canceled");
}
