//! Calls that a turn has made and the PMO carries out (PM-15), and turns that a worker takes up again after it went down.

use crate::support::{Api, Leased, Reply, on_both, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};

on_sqlite! {
    a_call_of_the_turn_is_answered_where_it_was_made;
    a_call_that_is_carried_out_again_does_nothing;
    a_fork_answers_the_call_that_asked_for_it;
    a_refusal_is_an_answer_too;
    only_the_turn_itself_has_its_calls_carried_out;
    members_of_a_run_have_settings_and_boxes_of_their_own;
    a_worker_says_of_so_many_turns_that_it_holds_them;
    a_turn_is_given_back_with_its_calls_if_it_says_so;
    cards_come_with_the_step_that_wrote_them;
    the_tools_of_a_profile_bind_its_turns;
    a_turn_gives_others_its_own_session_and_no_other;
}

on_both! {
    a_worker_that_comes_up_again_is_given_what_it_held;
    a_worker_that_lost_the_lease_of_a_resumed_turn_is_given_it_again;
}

/// Writes a card that makes these calls.
async fn make(api: &Api, leased: &Leased, ids: &[&str]) {
    let calls: Vec<_> =
        ids.iter().map(|id| json!({ "id": id, "tool_name": "errand", "arguments": {} })).collect();
    let body = json!({ "content": "", "metadata": { "type": "agent.thought" }, "tool_calls": calls });
    api.verb(leased, "/cards", body).await.expect(200);
}

/// Has a tool of the PMO carry out a call.
async fn carry_out(api: &Api, leased: &Leased, tool: &str, call: &str, args: Value, more: Value) -> Reply {
    let mut body = json!({
        "caller_agent_id": leased.lease["agent_id"], "agent_turn_id": leased.turn, "tool_call_id": call,
        "args": args,
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.with(&leased.token, "POST", &format!("/projects/p1/pmo/{tool}:call"), &body.to_string()).await
}

fn task() -> Value {
    json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "help" })
}

/// The answers in the turn's box: call and status.
async fn answers(api: &Api, leased: &Leased) -> Vec<(Value, Value)> {
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", leased.output)).await.expect(200);
    let results = cards.as_array().unwrap().iter().filter(|card| card["type"] == "tool.result");
    results.map(|card| (card["tool_call_id"].clone(), card["content"]["status"].clone())).collect()
}

/// PM-15
async fn a_call_of_the_turn_is_answered_where_it_was_made(api: Api) {
    let leased = api.running("a1").await;
    make(&api, &leased, &["c1"]).await;
    let answer = carry_out(&api, &leased, "delegate_async", "c1", task(), json!({})).await.expect(200);
    assert_eq!((&answer["tool_call_id"], &answer["status"]), (&json!("c1"), &json!("success")));
    assert_eq!(answers(&api, &leased).await, [(json!("c1"), json!("success"))]);
    let calls = api.items(&format!("state/execution/edges?agent_turn_id={}", leased.turn)).await;
    assert!(calls.iter().any(|edge| edge["correlation_id"] == "c1"), "{calls:?}");
    // The turn goes on: nothing is open.
    api.finish(&leased, "success").await;
    assert_eq!(answers(&api, &leased).await.len(), 1);
}

async fn a_call_that_is_carried_out_again_does_nothing(api: Api) {
    let leased = api.running("a1").await;
    make(&api, &leased, &["c1", "c2"]).await;
    let agents = async || api.items("agents").await.len();
    carry_out(&api, &leased, "delegate_async", "c1", task(), json!({})).await.expect(200);
    let made = agents().await;
    let again = carry_out(&api, &leased, "delegate_async", "c1", task(), json!({})).await.expect(200);
    assert_eq!(again["result"]["repeated"], true);
    assert!(again["tool_result_card_id"].is_string());
    let fork = json!({ "tasks": [task()] });
    carry_out(&api, &leased, "fork_join", "c2", fork.clone(), json!({})).await.expect(200);
    let again = carry_out(&api, &leased, "fork_join", "c2", fork, json!({})).await.expect(200);
    assert_eq!((&again["status"], &again["tool_result_card_id"]), (&json!("accepted"), &Value::Null));
    assert_eq!(agents().await, made + 1, "one for the fork, none for the repeats");
    assert_eq!(api.items("batches").await.len(), 1);
}

/// BM-16
async fn a_fork_answers_the_call_that_asked_for_it(api: Api) {
    let leased = api.running("a1").await;
    make(&api, &leased, &["c1"]).await;
    let fork = json!({ "tasks": [task(), task()] });
    carry_out(&api, &leased, "fork_join", "c1", fork, json!({})).await.expect(200);
    let body = json!({ "waiting_tool_call_ids": ["c1"], "resume_deadline_seconds": 60 });
    api.verb(&leased, ":suspend", body).await.expect(200);
    for child in api.claim_with(json!({ "start": true })).await {
        api.finish(&child, "success").await;
    }
    let resumed = api.claim().await;
    assert_eq!((resumed.len(), &resumed[0].turn), (1, &leased.turn));
    assert_eq!(answers(&api, &leased).await, [(json!("c1"), json!("success"))]);
}

/// PM-16
async fn a_refusal_is_an_answer_too(api: Api) {
    let leased = api.running("a1").await;
    make(&api, &leased, &["c1", "c2"]).await;
    let nobody = json!({ "target_strategy": "new", "target_ref": "Nobody", "instruction": "x" });
    carry_out(&api, &leased, "delegate_async", "c1", nobody, json!({})).await.expect_error(404, "not_found");
    carry_out(&api, &leased, "no_such_tool", "c2", json!({}), json!({}))
        .await
        .expect_error(404, "tool_definition_missing");
    let failed = json!("failed");
    assert_eq!(answers(&api, &leased).await, [(json!("c1"), failed.clone()), (json!("c2"), failed)]);
}

async fn only_the_turn_itself_has_its_calls_carried_out(api: Api) {
    let leased = api.running("a1").await;
    make(&api, &leased, &["c1"]).await;
    carry_out(&api, &leased, "delegate_async", "c9", task(), json!({})).await.expect_error(404, "not_found");
    let body = json!({ "caller_agent_id": "a1", "tool_call_id": "c1", "args": task() });
    let refused = api.post("/projects/p1/pmo/delegate_async:call", body).await;
    refused.expect_error(400, "bad_request");
    assert_eq!(refused.json()["error"]["detail"]["field"], "tool_call_id");
    assert!(answers(&api, &leased).await.is_empty());
}

async fn members_of_a_run_have_settings_and_boxes_of_their_own(api: Api) {
    let before = api.running("helper").await;
    api.finish(&before, "success").await;
    let leased = api.running("a1").await;
    make(&api, &leased, &["c1"]).await;
    let fork =
        json!({ "tasks": [{ "target_strategy": "reuse", "target_ref": "helper", "instruction": "x" }] });
    let more = json!({ "runtime_config": { "role": "worker" }, "fresh_output": true });
    carry_out(&api, &leased, "fork_join", "c1", fork, more.clone()).await.expect(200);
    let child = &api.claim().await[0];
    assert_eq!(child.lease["runtime_config"], json!({ "role": "worker" }));
    assert_ne!(child.output, before.output, "PM-07 is for those who do not say otherwise");
    make(&api, &leased, &["c2"]).await;
    let limited = json!({ "tasks": [task()], "max_parallel": 1 });
    carry_out(&api, &leased, "fork_join", "c2", limited, more).await.expect_error(400, "bad_request");
}

async fn a_worker_that_comes_up_again_is_given_what_it_held(api: Api) {
    let claim = |name: &str| json!({ "worker_id": name, "start": true, "recover": true });
    api.dispatch("a1").await;
    let held = api.claim_with(claim("w1")).await.remove(0);
    make(&api, &held, &["c1"]).await;
    assert!(api.claim_with(claim("w2")).await.is_empty(), "it is somebody else's");
    let again = api.claim_with(claim("w1")).await;
    assert_eq!((again.len(), &again[0].turn, again[0].epoch), (1, &held.turn, held.epoch + 1));
    // A worker that lost an answer says what it has.
    let more = json!({ "worker_id": "w1", "start": true, "recover": true, "holding": [again[0].turn] });
    assert!(api.claim_with(more).await.is_empty());
    // Its calls are still to be answered, by the one who holds it now and by nobody else.
    let result = json!({
        "content": { "status": "success" }, "metadata": { "type": "tool.result" }, "tool_call_id": "c1",
    });
    api.verb(&held, "/cards", result.clone()).await.expect_error(401, "unauthenticated");
    api.verb(&again[0], "/cards", result).await.expect(200);
    api.finish(&again[0], "success").await;
    assert_eq!(answers(&api, &again[0]).await.len(), 1);
    assert!(api.claim_with(claim("w1")).await.is_empty());
}

/// F-32, DP-15: the answer of a claim was lost that had brought a turn to go on with.
async fn a_worker_that_lost_the_lease_of_a_resumed_turn_is_given_it_again(api: Api) {
    let held = api.running("a1").await;
    make(&api, &held, &["c1"]).await;
    let suspend = json!({ "waiting_tool_call_ids": ["c1"], "resume_deadline_seconds": 60 });
    api.verb(&held, ":suspend", suspend).await.expect(200);
    let claim = |name: &str, start: bool| json!({ "worker_id": name, "start": start, "recover": true });
    assert!(api.claim_with(claim("w1", true)).await.is_empty(), "it waits for its tool");
    api.report(&held, "c1", json!({ "result": 1 })).await.expect(200);
    let lost = api.claim_with(claim("w1", false)).await.remove(0);
    assert_eq!(lost.lease["kind"], "resume");
    assert!(api.claim_with(claim("w2", true)).await.is_empty(), "it is somebody else's");
    let more = json!({ "worker_id": "w1", "start": true, "recover": true, "holding": [lost.turn] });
    assert!(api.claim_with(more).await.is_empty(), "it says that it has it");
    let again = api.claim_with(claim("w1", true)).await;
    assert_eq!((again.len(), &again[0].turn, again[0].epoch), (1, &held.turn, lost.epoch + 1));
    assert_eq!((&again[0].lease["kind"], &again[0].lease["status"]), (&json!("resume"), &json!("running")));
    api.verb(&lost, ":start", json!({})).await.expect_error(401, "unauthenticated");
    api.finish(&again[0], "success").await;
    assert!(api.claim_with(claim("w1", true)).await.is_empty());
}

/// F-27: it does not look at what others hold, nor through every project.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_comes_up_again_asks_for_its_own_turns() {
    let (api, reads) = Api::counted().await;
    let claim = |name: &str| json!({ "worker_id": name, "start": true, "recover": true });
    let recover = async || {
        let before = reads();
        assert!(api.claim_with(claim("w1")).await.is_empty());
        reads() - before
    };
    let alone = recover().await;
    for n in 0..20 {
        api.post("/projects", json!({ "project_id": format!("other-{n}") })).await.expect(201);
        api.dispatch(&format!("a{n}")).await;
    }
    assert_eq!(api.claim_with(claim("w2")).await.len(), 20);
    let among = recover().await;
    assert!(among <= alone + 3, "{among} reads among others, {alone} alone");
}

async fn a_worker_says_of_so_many_turns_that_it_holds_them(api: Api) {
    let body = |turns: usize| {
        let holding: Vec<String> = (0..turns).map(|n| format!("turn_{n:032x}")).collect();
        json!({
            "worker_target": "w", "worker_id": "w1", "max_turns": 1, "wait_ms": 0, "recover": true,
            "holding": holding,
        })
    };
    api.post("/l0/claim", body(limits::HOLDING_TURNS)).await.expect(200);
    api.post("/l0/claim", body(limits::HOLDING_TURNS + 1)).await.expect_error(413, "too_large");
}

async fn a_turn_is_given_back_with_its_calls_if_it_says_so(api: Api) {
    let held = api.running("a1").await;
    make(&api, &held, &["c1"]).await;
    api.verb(&held, ":release", json!({})).await.expect_error(409, "conflict");
    api.verb(&held, ":release", json!({ "keep_calls": true })).await.expect(200);
    let again = api.claim_with(json!({ "start": true })).await.remove(0);
    api.finish(&again, "success").await;
    assert_eq!(answers(&api, &again).await, [(json!("c1"), json!("canceled"))], "NF-05");
}

/// WK-05
async fn cards_come_with_the_step_that_wrote_them(api: Api) {
    let held = api.running("a1").await;
    let step = json!({ "step_id": "step_1", "phase": "call", "status": "done", "metadata": { "n": 1 } });
    let body =
        json!({ "cards": [{ "content": "x", "metadata": { "type": "agent.thought" } }], "step": step });
    api.verb(&held, "/cards", body).await.expect(200);
    let steps = api.items(&format!("state/steps?agent_turn_id={}", held.turn)).await;
    assert_eq!((&steps[0]["step_id"], &steps[0]["metadata"]), (&json!("step_1"), &json!({ "n": 1 })));
    let wrong = json!({ "cards": [], "step": { "phase": "" } });
    api.verb(&held, "/cards", wrong).await.expect_error(400, "bad_request");
}

/// What a profile does not allow, no turn of its agents gets done, whatever its worker believes.
async fn the_tools_of_a_profile_bind_its_turns(api: Api) {
    let profile =
        json!({ "worker_target": "w1", "system_prompt": "x", "allowed_tools": ["provision_agent"] });
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Strict", &profile.to_string()).await.expect(201);
    let made = json!({ "agent_id": "strict", "profile_name": "Strict" });
    let agent = api.post("/projects/p1/agents", made).await.expect(201);
    api.profile("p1").await;
    let context = api.context("do it").await;
    let order =
        json!({ "agent_id": "strict", "profile_box_id": agent["profile_box_id"], "context_box_id": context });
    api.send_turn(&order).await.expect(201);
    let leased = api.claim_with(json!({ "worker_target": "w1", "start": true })).await.remove(0);
    make(&api, &leased, &["c1", "c2"]).await;
    let refused = carry_out(&api, &leased, "delegate_async", "c1", task(), json!({})).await;
    refused.expect_error(403, "forbidden");
    let allowed = json!({ "agent_id": "new", "profile_name": "Helper" });
    carry_out(&api, &leased, "provision_agent", "c2", allowed, json!({})).await.expect(200);
    let expected = [(json!("c1"), json!("failed")), (json!("c2"), json!("success"))];
    assert_eq!(answers(&api, &leased).await, expected);
    // An operator may do anything in its name.
    let body = json!({ "caller_agent_id": "strict", "args": task() });
    api.post("/projects/p1/pmo/delegate_async:call", body).await.expect(200);
}

/// whoever holds a turn does not get at another's memory by starting somebody in it.
async fn a_turn_gives_others_its_own_session_and_no_other(api: Api) {
    let session = json!({ "runtime_config": { "session_id": "mine" } });
    api.dispatch_with("a1", session).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    make(&api, &leased, &["c1", "c2", "c3", "c4"]).await;
    let run = async |call: &str, config: Value| {
        carry_out(&api, &leased, "delegate_async", call, task(), json!({ "runtime_config": config })).await
    };
    for (config, field) in [
        (json!({ "session_id": "yours" }), "session_id"),
        (json!({ "session_id": "mine", "namespace": "other" }), "namespace"),
        (json!({ "session_id": "mine", "session_checkpoint": "none" }), "session_checkpoint"),
        (json!({ "team_card_id": "0".repeat(32) }), "team_card_id"),
        (json!({ "llm_config": { "model": "m" } }), "llm_config"),
        (json!({ "forked_from": leased.turn }), "forked_from"),
    ] {
        let refused = run("c1", config).await;
        refused.expect_error(400, "bad_request");
        assert_eq!(refused.json()["error"]["detail"]["field"], format!("runtime_config/{field}"));
    }
    run("c1", json!({ "session_id": "mine", "remember": false })).await.expect(200);
    run("c2", json!({ "role": "helper" })).await.expect(200);
}
