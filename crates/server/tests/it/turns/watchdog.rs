//! The watchdog, at moments of our choice (WD-01..WD-13, API-14).

use crate::support::{Api, on_both};
use serde_json::{Value, json};

on_both! {
    a_turn_nobody_starts_is_rung_for_and_then_taken_away;
    a_silent_turn_is_taken_away;
    a_taken_turn_leaves_a_deliverable_and_a_step;
    a_claimed_turn_that_was_never_started_goes_back;
    a_turn_does_not_wait_for_its_tools_for_ever;
    one_task_event_per_turn;
    a_tick_by_hand_is_recorded;
    the_moment_of_a_tick_may_be_in_the_query;
}

fn done(action: &str, turn: &str) -> (String, String) {
    (action.to_owned(), turn.to_owned())
}

/// WD-04, W-04, W-05: ticks at 11, 22 and 31 seconds.
async fn a_turn_nobody_starts_is_rung_for_and_then_taken_away(api: Api) {
    let turn = api.dispatch("a1").await;
    let head = api.head("a1").await;
    assert!(api.tick(4).await.is_empty());
    assert_eq!(api.tick(11).await, [done("ring", &turn.id)]);
    assert_eq!(api.tick(22).await, [done("ring", &turn.id)]);
    let rung = api.head("a1").await;
    assert_eq!((&rung["status"], &rung["dispatched_at"]), (&json!("dispatched"), &head["dispatched_at"]));
    assert!(rung["last_doorbell_at"].as_str() > head["last_doorbell_at"].as_str());
    assert_eq!(api.items("state/inbox").await.len(), 1, "a ring never inserts");
    assert_eq!(api.tick(31).await, [done("reap", &turn.id)]);
    let head = api.head("a1").await;
    assert_eq!((&head["status"], &head["turn_epoch"]), (&json!("idle"), &json!(2)));
    assert!(head["active_agent_turn_id"].is_null());
    assert_eq!(head["last_output_box_id"], json!(turn.output));
    let told = api.told("agent.task").await;
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["status"], &told[0]["error"]), (&json!("timeout"), &json!("dispatch_timeout")));
    assert!(api.tick(40).await.is_empty());
    assert!(api.claim().await.is_empty());
    assert_eq!(api.items("state/inbox").await.len(), 1);
}

/// WD-05, WD-01
async fn a_silent_turn_is_taken_away(api: Api) {
    let leased = api.running("a1").await;
    assert!(api.tick(299).await.is_empty());
    api.clock.advance(200);
    api.verb(&leased, ":heartbeat", json!({})).await.expect(200);
    assert!(api.tick(299).await.is_empty(), "a heartbeat counts");
    api.clock.advance(200);
    api.verb(&leased, "/steps", json!({ "phase": "think" })).await.expect(201);
    assert!(api.tick(299).await.is_empty(), "and so does a step");
    let waiting = api.running("a2").await;
    api.verb(&waiting, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
    assert_eq!(api.tick(301).await, [done("reap", &leased.turn)], "who waits for tools is not silent");
    let head = api.head("a1").await;
    assert_eq!((&head["status"], &head["turn_epoch"]), (&json!("idle"), &json!(2)));
    let turn = api.turn(&leased.turn).await;
    assert_eq!((&turn["status"], &turn["error"]), (&json!("failed"), &json!("timeout_reaped_by_watchdog")));
    assert_eq!(api.turn(&waiting.turn).await["status"], "suspended");
}

/// WD-06, WD-12
async fn a_taken_turn_leaves_a_deliverable_and_a_step(api: Api) {
    let leased = api.running("a1").await;
    api.think(&leased, "nearly there").await;
    let result = json!({
        "content": { "status": "success", "after_execution": "suspend", "result": 1, "error": null },
        "metadata": { "type": "tool.result" }, "tool_call_id": "c1",
    });
    api.verb(&leased, "/cards", result).await.expect(200);
    api.tick(301).await;
    let turn = api.turn(&leased.turn).await;
    let id = turn["deliverable_card_id"].as_str().unwrap();
    assert_eq!(api.shown("p1", &leased.output).await.last().unwrap(), id);
    let card = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
    assert_eq!(
        (&card["type"], &card["role"], &card["author_id"]),
        (&json!("task.deliverable"), &json!("assistant"), &json!("a1"))
    );
    let reason = "timeout_reaped_by_watchdog";
    let metadata = &card["metadata"];
    assert_eq!((&metadata["agent_turn_id"], &metadata["partial"]), (&json!(leased.turn), &json!(true)));
    assert_eq!(metadata["stop_reason"], reason);
    let content = &card["content"];
    assert_eq!((&content["schema_version"], &content["kind"]), (&json!(1), &json!("fallback_deliverable")));
    assert_eq!((&content["status"], &content["partial"]), (&json!("partial"), &json!(true)));
    assert!(content["message"].is_string());
    let names: Vec<_> =
        content["fields"].as_array().unwrap().iter().map(|field| field["name"].clone()).collect();
    assert_eq!(names, ["summary", "output", "reason"]);
    let expected = json!({
        "source": "pmo.l0_guard.watchdog", "tool_result_count": 1, "last_agent_thought": "nearly there",
        "partial": true, "terminal_status": "failed",
    });
    assert_eq!(content["diagnostics"], expected);
    let steps = api.items("state/steps").await;
    let step = format!("step_reap_{}", &leased.turn[leased.turn.len() - 8..]);
    assert_eq!((&steps[0]["step_id"], &steps[0]["status"]), (&json!(step), &json!("failed")));
    assert_eq!(steps[0]["metadata"]["reason"], reason);
    // A deliverable that the turn has written itself is kept.
    let leased = api.running("a2").await;
    let body = json!({ "content": "mine", "metadata": { "type": "task.deliverable" } });
    let mine = api.verb(&leased, "/cards", body).await.expect(200)["card_ids"][0].clone();
    api.tick(301).await;
    assert_eq!(api.turn(&leased.turn).await["deliverable_card_id"], mine);
}

/// WD-09, for a worker that was given a report to resume and never did.
async fn a_claimed_turn_that_was_never_started_goes_back(api: Api) {
    let leased = api.running("a1").await;
    api.verb(&leased, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
    api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200);
    let first = &api.claim().await[0];
    let row = async || {
        let rows = api.items("state/inbox?correlation_id=c1").await;
        (rows[0]["status"].as_str().unwrap().to_owned(), rows[0]["processed_at"].clone())
    };
    assert_eq!(row().await.0, "processing");
    assert!(api.tick(299).await.is_empty());
    assert_eq!(api.tick(301).await, [done("requeue", &leased.turn)]);
    assert_eq!(row().await, ("pending".to_owned(), Value::Null));
    let second = &api.claim_with(json!({ "worker_id": "worker 2" })).await[0];
    assert_eq!((&second.turn, &second.lease["kind"]), (&leased.turn, &json!("resume")));
    api.verb(first, ":start", json!({})).await.expect_error(401, "unauthenticated");
    api.verb(second, ":start", json!({})).await.expect(200);
    api.finish(second, "success").await;
}

/// WD-11, NF-05: one `timeout` answer for each, and no direct end.
async fn a_turn_does_not_wait_for_its_tools_for_ever(api: Api) {
    let leased = api.running("a1").await;
    let body = json!({ "waiting_tool_call_ids": ["c1", "c2", "c3"], "resume_deadline_seconds": 60 });
    api.verb(&leased, ":suspend", body).await.expect(200);
    api.report(&leased, "c2", json!({ "result": 1 })).await.expect(200);
    assert!(api.tick(59).await.is_empty());
    assert_eq!(api.tick(61).await, [done("expire_tools", &leased.turn)]);
    assert!(api.told("agent.task").await.is_empty(), "never a direct end");
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", leased.output)).await.expect(200);
    let answers: Vec<_> = cards
        .as_array()
        .unwrap()
        .iter()
        .map(|card| (card["tool_call_id"].as_str().unwrap(), card["content"]["status"].as_str().unwrap()))
        .collect();
    assert_eq!(answers, [("c2", "success"), ("c1", "timeout"), ("c3", "timeout")]);
    assert_eq!(cards[1]["content"]["error"]["code"], "tool_timeout");
    let rows = api.items("state/inbox").await;
    let timeouts = rows.iter().filter(|row| row["kind"] == "timeout").count();
    assert_eq!(timeouts, 2);
    // The answer that comes after all changes nothing.
    assert_eq!(api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200)["idempotent"], true);
    let resumed = &api.claim_with(json!({ "start": true })).await[0];
    assert_eq!(resumed.lease["kind"], "resume");
    api.finish(resumed, "success").await;
}

/// WD-07, NF-04: over finish, reap, stop and a queue behind them.
async fn one_task_event_per_turn(api: Api) {
    let mut turns = vec![];
    for _ in 0..4 {
        turns.push(api.dispatch("a1").await.id);
    }
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    api.finish(&leased, "success").await;
    api.tick(31).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    let path = format!("/projects/p1/turns/{}:stop", leased.turn);
    let (stopped, finished) = tokio::join!(
        api.post(&path, json!({})),
        api.verb(&leased, ":finish", json!({ "status": "success" })),
    );
    assert_eq!([&stopped, &finished].iter().filter(|reply| reply.status.is_success()).count(), 1, "one end");
    let last = api.claim_with(json!({ "start": true, "max_turns": 100 })).await;
    let last = match last.into_iter().find(|lease| lease.lease["kind"] == "turn") {
        Some(lease) => lease,
        None => api.claim_with(json!({ "start": true })).await.remove(0),
    };
    api.clock.advance(400);
    api.tick(0).await;
    api.tick(1).await;
    let told = api.told("agent.task").await;
    let told: Vec<_> = told.iter().map(|event| event["agent_turn_id"].as_str().unwrap()).collect();
    assert_eq!(told, turns, "one each, in order");
    assert_eq!(last.turn, turns[3]);
    assert_eq!(api.head("a1").await["status"], "idle");
}

/// SEC-05, API-14
async fn a_tick_by_hand_is_recorded(api: Api) {
    let report = api.post("/admin/watchdog:tick", json!({})).await.expect(200);
    assert_eq!(report["actions"], json!([]));
    let (realm, all) = (cardwire_model::Realm::System, cardwire_store::RowFilter::default());
    let system = api.store.audit(&realm, &all, None, 1).await.unwrap();
    assert_eq!(system[0].audit.action.as_str(), "admin.tick");
    let own = api.token(json!({ "project_id": "p1", "scopes": ["admin"] })).await;
    api.with(&own, "POST", "/admin/watchdog:tick", "{}").await.expect_error(403, "forbidden");
    for bad in [json!({ "now": "yesterday" }), json!({ "now": 7 }), json!({ "then": "x" })] {
        api.post("/admin/watchdog:tick", bad).await.expect_error(400, "bad_request");
    }
}

/// WD, API-14: `?now=` is as good as the body, and both must agree.
async fn the_moment_of_a_tick_may_be_in_the_query(api: Api) {
    let turn = api.dispatch("a1").await;
    let (soon, late) = (api.kernel.now().plus_seconds(1), api.kernel.now().plus_seconds(31));
    let (empty, same) = (json!({}), json!({ "now": late.to_string() }));
    let path = |now: &str| format!("/admin/watchdog:tick?now={now}");
    let differs = json!({ "now": soon.to_string() });
    let reply = api.post(&path(&late.to_string()), differs).await;
    reply.expect_error(400, "bad_request");
    assert_eq!(reply.json()["error"]["detail"]["field"], "now");
    for bad in ["yesterday", "", "7"] {
        api.post(&path(bad), empty.clone()).await.expect_error(400, "bad_request");
    }
    assert_eq!(api.head("a1").await["status"], "dispatched", "nothing was done");
    let report = api.post_raw(&path(&late.to_string()), "").await.expect(200);
    assert_eq!(report["now"], late.to_string());
    assert_eq!(
        (&report["actions"][0]["action"], &report["actions"][0]["agent_turn_id"]),
        (&json!("reap"), &json!(turn.id))
    );
    assert_eq!(api.post(&path(&late.to_string()), same).await.expect(200)["now"], late.to_string());
    let document = api.get("/openapi.json").await.expect(200);
    let parameter = &document["paths"]["/admin/watchdog:tick"]["post"]["parameters"][0];
    assert_eq!(
        (&parameter["name"], &parameter["in"], &parameter["schema"]["format"]),
        (&json!("now"), &json!("query"), &json!("date-time"))
    );
}
