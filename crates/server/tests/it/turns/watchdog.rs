//! The watchdog, at moments of our choice (WD-01..WD-13, API-14).

use crate::support::{Api, Backend, on_both};
use cardwire_kernel::protocol::watchdog::Policy;
use serde_json::{Value, json};

on_both! {
    work_that_nobody_claims_waits;
    a_claim_without_a_start_is_taken_back;
    the_last_claim_without_a_start_ends_the_turn;
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

/// F-03, WD-04: ticks at 11, 22, 31 s and one hour ring, and nothing else; then it can be claimed.
async fn work_that_nobody_claims_waits(api: Api) {
    let turn = api.dispatch("a1").await;
    for seconds in [11, 22, 33, 3_600] {
        assert_eq!(api.tick(seconds).await, [done("ring", &turn.id)], "{seconds}");
    }
    let waiting = api.turn(&turn.id).await;
    assert_eq!((&waiting["status"], &waiting["worker_id"]), (&json!("dispatched"), &Value::Null));
    let leased = &api.claim_with(json!({ "start": true })).await[0];
    assert_eq!((&leased.turn, leased.epoch), (&turn.id, 1));
    api.finish(leased, "success").await;
    assert_eq!((api.told("agent.task").await.len(), api.items("state/inbox").await.len()), (1, 1));
}

/// F-03, WD-04, NF-03: taken back after 30 s and offered again; whoever had it is refused, also when another one has it.
async fn a_claim_without_a_start_is_taken_back(api: Api) {
    let first = api.leased("a1").await;
    assert!(api.tick(25).await.is_empty());
    assert_eq!(api.tick(31).await, [done("take_back", &first.turn)]);
    let before = api.everything().await;
    for verb in [":start", ":heartbeat"] {
        api.verb(&first, verb, json!({})).await.expect_error(409, "stale_turn");
    }
    assert_eq!(api.everything().await, before);
    let second = &api.claim_with(json!({ "worker_id": "worker 2" })).await[0];
    assert_eq!((&second.turn, second.epoch), (&first.turn, first.epoch + 1));
    api.verb(&first, ":start", json!({})).await.expect_error(409, "stale_turn");
    // Nor does the old secret open the new lease.
    let pretends = json!({ "turn_epoch": second.epoch });
    api.verb(&first, ":start", pretends).await.expect_error(409, "stale_turn");
    api.verb(second, ":start", json!({})).await.expect(200);
    api.finish(second, "success").await;
    assert_eq!((api.told("agent.task").await.len(), api.items("state/inbox").await.len()), (1, 1));
    let steps = api.items("state/steps?phase=taken_back").await;
    assert_eq!((steps.len(), &steps[0]["turn_epoch"]), (1, &json!(first.epoch)));
    let told = &steps[0]["metadata"];
    assert_eq!((&told["reason"], &told["worker_id"]), (&json!("claim_not_started"), &json!("worker 1")));
    assert_eq!((&told["attempt"], &told["max_attempts"]), (&json!(1), &json!(3)));
}

/// WD-04: three claims, or as many as the profile allows, and it ends as if nobody had served it.
async fn the_last_claim_without_a_start_ends_the_turn(api: Api) {
    let turn = api.dispatch("a1").await;
    for attempt in 1..=3 {
        assert_eq!(api.claim().await[0].epoch, attempt, "{attempt}");
        api.clock.advance(31);
        let ends = if attempt == 3 { "idle" } else { "dispatched" };
        assert_eq!(api.tick(0).await, [done("take_back", &turn.id)]);
        assert_eq!(api.head("a1").await["status"], ends);
    }
    let ended = api.turn(&turn.id).await;
    assert_eq!((&ended["status"], &ended["error"]), (&json!("timeout"), &json!("dispatch_timeout")));
    assert_eq!((api.told("agent.task").await.len(), api.items("state/inbox").await.len()), (1, 1));
    let body = json!({ "worker_target": "w1", "system_prompt": "Once.", "max_attempts": 1 });
    let put = api.with(&api.admin, "PUT", "/projects/p1/profiles/Once", &body.to_string()).await.expect(201);
    assert_eq!(put["max_attempts"], 1);
    let once = json!({ "agent_id": "a2", "profile_name": "Once" });
    api.post("/projects/p1/agents", once).await.expect(201);
    let order = json!({
        "agent_id": "a2", "profile_box_id": put["profile_box_id"], "context_box_id": api.context("x").await,
    });
    let turn = api.send_turn(&order).await.expect(201)["agent_turn_id"].as_str().unwrap().to_owned();
    assert_eq!(api.claim().await.len(), 1);
    assert_eq!(api.tick(31).await, [done("take_back", &turn)]);
    assert_eq!(api.turn(&turn).await["status"], "timeout");
}

/// WD-04: what is no number of attempts is refused, with the field named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_with_a_wrong_number_of_attempts_is_refused() {
    let api = Api::start(Backend::Sqlite).await;
    for wrong in [json!(0), json!(-1), json!(101), json!("three"), json!(1.5)] {
        let body = json!({ "worker_target": "w", "system_prompt": "x", "max_attempts": wrong });
        let refused = api.with(&api.admin, "PUT", "/projects/p1/profiles/Bad", &body.to_string()).await;
        refused.expect_error(400, "bad_request");
        assert_eq!(refused.json()["error"]["detail"]["field"], "max_attempts", "{wrong}");
    }
    api.get("/projects/p1/profiles/Bad").await.expect_error(404, "not_found");
}

/// WD-04, W-04, W-05: ticks at 11, 22 and 31 seconds, where a time-out is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_time_out_is_set_a_turn_nobody_claims_is_taken_away() {
    let policy = Policy { dispatched_timeout: 30, ..Policy::default() };
    let api = Api::start_timed(Backend::Sqlite, policy).await;
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

/// WD-04, WD-09, for a worker that was given a report to resume and never did.
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
    assert!(api.tick(25).await.is_empty());
    assert_eq!(api.tick(301).await, [done("take_back", &leased.turn)]);
    assert_eq!(row().await, ("pending".to_owned(), Value::Null));
    api.verb(first, ":start", json!({})).await.expect_error(409, "stale_turn");
    let second = &api.claim_with(json!({ "worker_id": "worker 2" })).await[0];
    assert_eq!((&second.turn, &second.lease["kind"]), (&leased.turn, &json!("resume")));
    assert_eq!(second.epoch, first.epoch + 1);
    api.verb(first, ":start", json!({})).await.expect_error(409, "stale_turn");
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
    for _ in 0..3 {
        // The second is given away three times, and never started.
        api.claim().await;
        api.clock.advance(31);
        api.tick(0).await;
    }
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
    let leased = api.running("a1").await;
    let (soon, late) = (api.kernel.now().plus_seconds(1), api.kernel.now().plus_seconds(301));
    let (empty, same) = (json!({}), json!({ "now": late.to_string() }));
    let path = |now: &str| format!("/admin/watchdog:tick?now={now}");
    let differs = json!({ "now": soon.to_string() });
    let reply = api.post(&path(&late.to_string()), differs).await;
    reply.expect_error(400, "bad_request");
    assert_eq!(reply.json()["error"]["detail"]["field"], "now");
    for bad in ["yesterday", "", "7"] {
        api.post(&path(bad), empty.clone()).await.expect_error(400, "bad_request");
    }
    assert_eq!(api.head("a1").await["status"], "running", "nothing was done");
    let report = api.post_raw(&path(&late.to_string()), "").await.expect(200);
    assert_eq!(report["now"], late.to_string());
    assert_eq!(
        (&report["actions"][0]["action"], &report["actions"][0]["agent_turn_id"]),
        (&json!("reap"), &json!(leased.turn))
    );
    assert_eq!(api.post(&path(&late.to_string()), same).await.expect(200)["now"], late.to_string());
    let document = api.get("/openapi.json").await.expect(200);
    let parameter = &document["paths"]["/admin/watchdog:tick"]["post"]["parameters"][0];
    assert_eq!(
        (&parameter["name"], &parameter["in"], &parameter["schema"]["format"]),
        (&json!("now"), &json!("query"), &json!("date-time"))
    );
}
