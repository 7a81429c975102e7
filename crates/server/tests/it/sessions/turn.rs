//! Turns that belong to a session: what is asked and answered becomes memory when the turn ends, once (ST-07).

use crate::support::{Api, Leased, names, on_sqlite, texts};
use cardwire_model::limits;
use serde_json::{Value, json};

on_sqlite! {
    st_07_a_turn_is_remembered_when_it_ends_and_once;
    pr_10_what_people_said_in_a_turn_is_remembered_between_question_and_answer;
    st_07_a_turn_that_failed_leaves_memory_alone;
    st_07_a_turn_that_was_lost_and_done_again_is_remembered_once;
    st_07_the_session_is_named_when_the_turn_is_sent;
    x_01_what_was_packed_is_asked_and_remembered_not_what_was_inherited;
    st_05_as_many_questions_as_turns;
}

async fn start(api: &Api, question: &str, config: Value) -> Leased {
    let context = api.context(question).await;
    let turn = api.dispatch_with("a1", json!({ "context_box_id": context, "runtime_config": config })).await;
    let leases = api.claim_with(json!({ "start": true })).await;
    leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
}

async fn st_07_a_turn_is_remembered_when_it_ends_and_once(api: Api) {
    let leased = start(&api, "what is it?", json!({ "session_id": "s" })).await;
    api.think(&leased, "hm").await;
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": "42" })).await.expect(200);
    let session = api.session("s").await;
    let reply = format!("{}_reply", leased.turn);
    let messages: Vec<_> = session["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| {
            (said["id"].as_str().unwrap(), said["role"].as_str().unwrap(), said["content"].as_str().unwrap())
        })
        .collect();
    assert_eq!(messages, [(leased.turn.as_str(), "human", "what is it?"), (reply.as_str(), "ai", "42")]);
    assert_eq!(session["version"], 1, "in one commit with the end of the turn");
    let again = api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": "43" })).await;
    again.expect_error(409, "stale_turn");
    assert_eq!(api.session("s").await, session);
}

async fn pr_10_what_people_said_in_a_turn_is_remembered_between_question_and_answer(api: Api) {
    let leased = start(&api, "what is it?", json!({ "session_id": "s" })).await;
    let finish = |replies: Value| json!({ "status": "success", "deliverable": "42", "replies": replies });
    let many = vec!["x"; limits::TURN_REPLIES + 1];
    api.verb(&leased, ":finish", finish(json!(many))).await.expect_error(413, "too_large");
    for (bad, field) in
        [(json!(["a", 7]), "replies/1"), (json!("a"), "replies"), (json!(["a\0"]), "replies/0")]
    {
        names(&api.verb(&leased, ":finish", finish(bad)).await, "bad_request", field);
    }
    api.verb(&leased, ":finish", finish(json!(["a number", "a small one"]))).await.expect(200);
    let session = api.session("s").await;
    assert_eq!(texts(&session["messages"]), ["what is it?", "a number", "a small one", "42"]);
    let roles: Vec<_> = session["messages"].as_array().unwrap().iter().map(|said| &said["role"]).collect();
    assert_eq!(roles, ["human", "human", "human", "ai"]);
    assert_eq!(session["version"], 1, "in one commit with the end of the turn");
    // As many as may be; and a turn whose memory others write leaves none of it.
    let leased = start(&api, "again?", json!({ "session_id": "s" })).await;
    api.verb(&leased, ":finish", finish(json!(vec!["x"; limits::TURN_REPLIES]))).await.expect(200);
    let session = api.session("s").await;
    let leased = start(&api, "once more?", json!({ "session_id": "s", "remember": false })).await;
    api.verb(&leased, ":finish", finish(json!(["yes"]))).await.expect(200);
    assert_eq!(api.session("s").await, session);
}

async fn st_07_a_turn_that_failed_leaves_memory_alone(api: Api) {
    api.say("s", &[("m1", "human", "hi")]).await;
    let before = api.session("s").await;
    for status in ["failed", "canceled", "timeout", "partial"] {
        let leased = start(&api, "try", json!({ "session_id": "s" })).await;
        api.finish(&leased, status).await;
        assert_eq!(api.session("s").await, before, "{status}");
    }
    let leased = start(&api, "try", json!({ "session_id": "s" })).await;
    assert_eq!(api.tick(301).await, [("reap".to_owned(), leased.turn.clone())]);
    assert_eq!(api.session("s").await, before, "reaped");
}

/// NF-04: the worker dies, another one does the turn from the start.
async fn st_07_a_turn_that_was_lost_and_done_again_is_remembered_once(api: Api) {
    let first = start(&api, "what is it?", json!({ "session_id": "s", "namespace": "n" })).await;
    api.think(&first, "half done").await;
    api.verb(&first, ":release", json!({})).await.expect(200);
    api.get("/projects/p1/sessions/s?namespace=n").await.expect_error(404, "not_found");
    let restarted = api.again(cardwire_kernel::ContextConfig::default());
    let second = &restarted.claim_with(json!({ "start": true })).await[0];
    assert_eq!(second.turn, first.turn);
    restarted.finish(second, "success").await;
    api.verb(&first, ":finish", json!({ "status": "success" })).await.expect_error(401, "unauthenticated");
    let session = api.get("/projects/p1/sessions/s?namespace=n").await.expect(200);
    assert_eq!(texts(&session["messages"]), ["what is it?", "done"]);
}

/// X-01, CM-02, ST-07: in either order of packing.
async fn x_01_what_was_packed_is_asked_and_remembered_not_what_was_inherited(api: Api) {
    api.profile("p1").await;
    let old = api.context("old question").await;
    for (session, order) in [("s1", "args_first"), ("s2", "inherit_first")] {
        let packed = json!({
            "tool_suffix": "ask", "source_agent_id": "boss",
            "arguments": { "instruction": "new question", "boxes": [old] },
            "handover": {
                "target_profile_config": { "profile_name": "Helper" },
                "context_packing_config": {
                    "pack_arguments": [{ "arg_key": "instruction" }],
                    "inherit_context": { "include_boxes_from_args": ["boxes"], "include_parent": true },
                    "order": order,
                },
            },
        });
        let packed = api.post("/projects/p1/pmo/pack_context", packed).await.expect(201);
        let context = packed["context_box_id"].as_str().unwrap();
        let shown = api.shown("p1", context).await;
        let asked = if order == "args_first" { &shown[0] } else { &shown[1] };
        let config = json!({ "session_id": session });
        let order = json!({ "context_box_id": context, "runtime_config": config });
        let turn = api.dispatch_with("a1", order).await;
        let leased = api.claim_with(json!({ "start": true })).await.remove(0);
        assert_eq!(leased.turn, turn.id);
        let view = api.with(&leased.token, "GET", &leased.path("/view"), "").await.expect(200);
        assert_eq!(view["instruction_card_id"], json!(asked));

        let call = api.verb(&leased, "/calls", json!({ "model": "m" })).await.expect(201);
        let request: Value = serde_json::from_str(call["request"].as_str().unwrap()).unwrap();
        let messages = request["messages"].as_array().unwrap();
        let of_people = || messages.iter().filter(|message| message["role"] == "user");
        let said: Vec<_> = of_people().map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(said, ["old question", "new question"]);
        assert_eq!(messages.last(), of_people().next_back(), "the newest instruction comes last");
        let id = call["call_id"].as_str().unwrap();
        let shown = api.get(&format!("/projects/p1/calls/{id}/context")).await.expect(200);
        let entries = shown["entries"].as_array().unwrap();
        let query = entries.iter().find(|entry| entry["layer"] == "query").unwrap();
        assert_eq!(query["card_id"], json!(asked));

        api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": "42" })).await.expect(200);
        assert_eq!(texts(&api.session(session).await["messages"]), ["new question", "42"]);
    }
}

async fn st_07_the_session_is_named_when_the_turn_is_sent(api: Api) {
    for (config, field) in [
        (json!({ "session_id": 7 }), "runtime_config/session_id"),
        (json!({ "session_id": "a b" }), "runtime_config/session_id"),
        (json!({ "session_id": "" }), "runtime_config/session_id"),
        (json!({ "session_id": "s", "namespace": "*" }), "runtime_config/namespace"),
    ] {
        let order = api.order("a1", json!({ "runtime_config": config })).await;
        names(&api.send_turn(&order).await, "bad_request", field);
    }
    let leased = start(&api, "no session", json!({})).await;
    api.finish(&leased, "success").await;
    assert!(api.items("sessions").await.is_empty());
}

async fn st_05_as_many_questions_as_turns(api: Api) {
    for n in 0..3 {
        // The same question is another one in another turn.
        let leased = start(&api, "again?", json!({ "session_id": "s" })).await;
        api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": n })).await.expect(200);
    }
    let checkpoint = api.session("s").await["checkpoint_id"].clone();
    api.post("/projects/p1/sessions/s:restore", json!({ "checkpoint_id": checkpoint })).await.expect(200);
    let messages = api.session("s").await["messages"].clone();
    let said = |role: &str| messages.as_array().unwrap().iter().filter(|said| said["role"] == role).count();
    assert_eq!((said("human"), said("ai")), (3, 3));
}
