//! Calls of the PMO that a turn has made by itself, in its own name, over HTTP (PM-15, X-04, API-09), and what nobody may do to
//! a turn's box.

use crate::support::{Api, Leased, NOBODY, Reply, on_both, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};

on_both! {
    pm_15_a_call_that_is_waited_for_is_carried_out_once;
    pm_15_a_call_of_a_turn_at_work_is_carried_out_once;
    cb_08_a_box_of_another_project_is_not_there_for_a_turn_either;
    x_10_a_box_that_a_turn_writes_is_written_by_it_alone;
}

on_sqlite! {
    pm_15_a_repeat_is_told_what_came_of_the_call;
    pm_15_what_is_carried_out_is_what_the_card_says;
    api_09_a_turn_need_not_name_itself_and_its_children_are_of_its_trace;
    pk_21_a_dry_run_tells_whether_the_request_could_be_sent;
    pk_21_a_dry_run_goes_by_the_card_that_made_the_call;
    pk_21_a_dry_run_refuses_a_call_that_no_card_holds;
    pm_07_an_output_box_that_was_given_to_others_is_replaced;
    names_are_found_and_told_as_everywhere;
    cb_19_a_call_of_another_epoch_is_stale;
}

async fn at_work(api: &Api) -> Leased {
    api.profile("p1").await;
    api.running("boss").await
}

fn args(more: Value) -> Value {
    let mut args = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "Look it up." });
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

async fn as_turn(api: &Api, leased: &Leased, tool: &str, body: Value) -> Reply {
    let path = format!("/projects/p1/pmo/{tool}:call");
    api.with(&leased.token, "POST", &path, &body.to_string()).await
}

/// The turn makes a call by itself.
async fn makes(api: &Api, leased: &Leased, id: &str, tool: &str, arguments: &Value) {
    let card = json!({
        "content": { "tool_name": tool, "arguments": arguments }, "tool_call_id": id,
        "metadata": { "type": "tool.call", "role": "assistant" },
    });
    assert!(api.verb(leased, "/cards", card).await.status.is_success());
}

async fn pm_15_a_call_that_is_waited_for_is_carried_out_once(api: Api) {
    let leased = at_work(&api).await;
    makes(&api, &leased, "c1", "delegate_async", &args(json!({}))).await;
    let wait = json!({ "waiting_tool_call_ids": ["c1"], "resume_deadline_seconds": 60 });
    api.verb(&leased, ":suspend", wait).await.expect(200);
    let body = json!({ "caller_agent_id": "boss", "tool_call_id": "c1" });
    let told = as_turn(&api, &leased, "delegate_async", body).await.expect(200);
    assert_eq!(told["result"]["status"], "accepted");
    assert!(told["result"]["agent_turn_id"].is_string() && told["tool_result_card_id"].is_string(), "{told}");
    // The answer is what the turn waited for.
    let resumed = api.claim_with(json!({ "max_turns": 10, "start": true })).await;
    assert!(resumed.iter().any(|lease| lease.lease["kind"] == "resume" && lease.turn == leased.turn));
    // A fork is begun once, however often it is asked for.
    let leased = resumed.into_iter().find(|lease| lease.turn == leased.turn).unwrap();
    makes(&api, &leased, "c2", "fork_join", &json!({ "tasks": [args(json!({}))] })).await;
    let wait = json!({ "waiting_tool_call_ids": ["c2"], "resume_deadline_seconds": 60 });
    api.verb(&leased, ":suspend", wait).await.expect(200);
    let body = json!({ "caller_agent_id": "boss", "tool_call_id": "c2" });
    let (one, other) = tokio::join!(
        as_turn(&api, &leased, "fork_join", body.clone()),
        as_turn(&api, &leased, "fork_join", body.clone())
    );
    let repeated = [one.expect(200), other.expect(200)].map(|told| told["result"]["repeated"] == true);
    assert_eq!(repeated.iter().filter(|repeated| **repeated).count(), 1, "{repeated:?}");
    assert_eq!(api.items("batches").await.len(), 1);
}

/// Whoever asks at the same moment is told that it is a repeat, and never that the turn is gone.
async fn pm_15_a_call_of_a_turn_at_work_is_carried_out_once(api: Api) {
    const ROUNDS: usize = 12;
    let leased = at_work(&api).await;
    for round in 1..=ROUNDS {
        let id = format!("c{round}");
        makes(&api, &leased, &id, "fork_join", &json!({ "tasks": [args(json!({}))] })).await;
        let body = json!({ "caller_agent_id": "boss", "tool_call_id": id });
        let asked = (0..4).map(|_| as_turn(&api, &leased, "fork_join", body.clone()));
        let told = futures_util::future::join_all(asked).await;
        let batches: Vec<_> =
            told.into_iter().map(|told| told.expect(200)["result"]["batch_id"].clone()).collect();
        assert!(batches[0].is_string() && batches.iter().all(|batch| *batch == batches[0]), "{batches:?}");
        assert_eq!(api.items("batches").await.len(), round);

        let id = format!("d{round}");
        makes(&api, &leased, &id, "delegate_async", &args(json!({ "target_ref": "Nobody" }))).await;
        let body = json!({ "caller_agent_id": "boss", "tool_call_id": id });
        let asked = (0..4).map(|_| as_turn(&api, &leased, "delegate_async", body.clone()));
        for told in futures_util::future::join_all(asked).await {
            assert!(matches!(told.status.as_u16(), 200 | 404), "{}: {}", told.status, told.json());
        }
    }
}

async fn pm_15_a_repeat_is_told_what_came_of_the_call(api: Api) {
    let leased = at_work(&api).await;
    let call = async |tool: &str, id: &str| {
        as_turn(&api, &leased, tool, json!({ "caller_agent_id": "boss", "tool_call_id": id })).await
    };
    makes(&api, &leased, "c1", "delegate_async", &args(json!({ "target_ref": "Nobody" }))).await;
    call("delegate_async", "c1").await.expect_error(404, "not_found");
    let again = call("delegate_async", "c1").await.expect(200);
    assert_eq!((&again["status"], &again["result"]["repeated"]), (&json!("failed"), &json!(true)), "{again}");
    assert!(again["tool_result_card_id"].is_string());

    makes(&api, &leased, "c2", "delegate_async", &args(json!({}))).await;
    let first = call("delegate_async", "c2").await.expect(200);
    let again = call("delegate_async", "c2").await.expect(200);
    assert_eq!(again["result"]["agent_turn_id"], first["result"]["agent_turn_id"]);
    assert_eq!((&again["status"], &again["result"]["repeated"]), (&json!("success"), &json!(true)));

    makes(&api, &leased, "c3", "fork_join", &json!({ "tasks": [args(json!({}))] })).await;
    let first = call("fork_join", "c3").await.expect(200);
    let again = call("fork_join", "c3").await.expect(200);
    assert_eq!((&again["status"], &again["result"]["task_count"]), (&json!("accepted"), &json!(1)));
    assert_eq!(again["result"]["batch_id"], first["result"]["batch_id"]);
    let batch = first["result"]["batch_id"].as_str().unwrap();
    api.post(&format!("/projects/p1/batches/{batch}:cancel"), json!({})).await.expect(200);
    let ended = call("fork_join", "c3").await.expect(200);
    assert!(ended["tool_result_card_id"].is_string() && ended["status"] != "accepted", "{ended}");
}

async fn pm_15_what_is_carried_out_is_what_the_card_says(api: Api) {
    let leased = at_work(&api).await;
    makes(&api, &leased, "c1", "delegate_async", &args(json!({}))).await;
    let call = async |tool: &str, args: Option<Value>| {
        let mut body = json!({ "caller_agent_id": "boss", "tool_call_id": "c1" });
        body.as_object_mut().unwrap().extend(args.map(|args| ("args".to_owned(), args)));
        as_turn(&api, &leased, tool, body).await
    };
    let other = call("delegate_async", Some(args(json!({ "instruction": "Something else." })))).await;
    other.expect_error(400, "bad_request");
    assert!(other.json()["error"]["message"].as_str().unwrap().contains("args"), "{}", other.json());
    call("ask_expert", None).await.expect_error(400, "bad_request");
    let told = call("delegate_async", Some(args(json!({})))).await.expect(200);
    let given = told["result"]["context_box_id"].as_str().unwrap();
    let cards = api.get(&format!("/projects/p1/boxes/{given}/cards")).await.expect(200);
    assert_eq!(cards[0]["content"], "Look it up.");
    let card = told["tool_result_card_id"].as_str().unwrap();
    let card = api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
    assert_eq!(card["content"]["after_execution"], "suspend");
}

async fn api_09_a_turn_need_not_name_itself_and_its_children_are_of_its_trace(api: Api) {
    let leased = at_work(&api).await;
    let body = json!({ "caller_agent_id": "boss", "args": args(json!({})) });
    let told = as_turn(&api, &leased, "delegate_async", body.clone()).await.expect(200);
    let trace = |turn: Value| turn["trace_id"].as_str().unwrap().to_owned();
    let own = trace(api.turn(&leased.turn).await);
    assert_eq!(trace(api.turn(told["result"]["agent_turn_id"].as_str().unwrap()).await), own);
    api.agent("other").await;
    let order = api.order("other", json!({ "parent_agent_turn_id": leased.turn })).await;
    let sent = api.send_turn(&order).await.expect(201);
    assert_eq!(sent["trace_id"], own.as_str());
    // Another's token, and whoever is not at work.
    let by_other = json!({ "caller_agent_id": "other", "args": args(json!({})) });
    as_turn(&api, &leased, "delegate_async", by_other).await.expect_error(401, "unauthenticated");
    api.finish(&leased, "success").await;
    as_turn(&api, &leased, "delegate_async", body).await.expect_error(401, "unauthenticated");
}

async fn cb_08_a_box_of_another_project_is_not_there_for_a_turn_either(api: Api) {
    let leased = at_work(&api).await;
    let own = api.make_box("p1", &api.cards("p1", 1).await).await;
    let foreign = api.make_box("p2", &api.cards("p2", 1).await).await;
    let ask = async |context: &str, query: &str| {
        let body = json!({ "caller_agent_id": "boss", "args": args(json!({ "context_box_id": context })) });
        let path = format!("/projects/p1/pmo/delegate_async:call{query}");
        api.with(&leased.token, "POST", &path, &body.to_string()).await
    };
    ask(&own, "").await.expect_error(403, "unauthorized_box");
    for unknown in [foreign.as_str(), NOBODY] {
        ask(unknown, "").await.expect_error(404, "not_found");
        let told = ask(unknown, "?dry_run=true").await.expect(200);
        assert_eq!(told["preflight"]["missing_box_ids"], json!([unknown]));
        assert_eq!(told["preflight"]["denied_box_ids"], json!([]));
    }
    ask(" ", "").await.expect_error(400, "bad_request");
}

async fn pk_21_a_dry_run_tells_whether_the_request_could_be_sent(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let narrow = json!({
        "worker_target": "w", "system_prompt": "You help.", "llm_config": { "model": "m", "context_window": 60 },
    });
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Narrow", &narrow.to_string()).await.expect(201);
    let dry_run = async |more: Value| {
        let args = args(more);
        let body = json!({ "caller_agent_id": "boss", "args": args });
        api.post("/projects/p1/pmo/delegate_async:call?dry_run=true", body).await.expect(200)["preflight"]
            .clone()
    };
    let dry = async |target: &str, instruction: &str| {
        dry_run(json!({ "target_ref": target, "instruction": instruction })).await
    };
    let told = dry("Helper", "Go.").await;
    assert_eq!([&told["ok"], &told["valid"], &told["fits"]], [&json!(true); 3]);
    assert_eq!((&told["window"], &told["problem"]), (&Value::Null, &Value::Null));
    assert!(told["tokens"]["layers"]["query"].as_u64().unwrap() > 0, "{told}");
    let told = dry("Narrow", &"word ".repeat(200)).await;
    assert_eq!([&told["ok"], &told["valid"], &told["fits"]], [&json!(false); 3]);
    assert_eq!((&told["window"], &told["problem"]["code"]), (&json!(60), &json!("context_overflow")));
    // Whoever is used again goes on with what it has written.
    let history = async || {
        let told = dry_run(json!({ "target_strategy": "reuse", "target_ref": "old" })).await;
        told["tokens"]["layers"]["checkpoint"].as_u64().unwrap_or_default()
    };
    api.agent("old").await;
    let nothing = history().await;
    let worked = api.running("old").await;
    api.think(&worked, &"word ".repeat(200)).await;
    api.finish(&worked, "success").await;
    assert!(history().await >= nothing + 200, "{nothing}");
}

async fn pk_21_a_dry_run_refuses_a_call_that_no_card_holds(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let args = args(json!({ "instruction": "x".repeat(limits::CARD_BYTES) }));
    for query in ["", "?dry_run=true"] {
        let path = format!("/projects/p1/pmo/delegate_async:call{query}");
        let body = json!({ "caller_agent_id": "boss", "args": args });
        api.post(&path, body).await.expect_error(413, "too_large");
    }
}

async fn pk_21_a_dry_run_goes_by_the_card_that_made_the_call(api: Api) {
    let leased = at_work(&api).await;
    makes(&api, &leased, "c1", "fork_join", &json!({ "tasks": [args(json!({})), args(json!({}))] })).await;
    let body = |id: &str, more: Value| {
        let mut body = json!({ "caller_agent_id": "boss", "tool_call_id": id });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let dry = |id: &str, more: Value| {
        let body = body(id, more).to_string();
        let (api, leased) = (&api, &leased);
        async move { api.with(&leased.token, "POST", "/projects/p1/pmo/fork_join:call?dry_run=true", &body).await }
    };
    let told = dry("c1", json!({})).await.expect(200);
    assert_eq!(told["tasks"].as_array().map(Vec::len), Some(2), "{told}");
    dry("c2", json!({})).await.expect_error(404, "not_found");
    dry("c1", json!({ "args": { "tasks": [args(json!({}))] } })).await.expect_error(400, "bad_request");
    let path = "/projects/p1/pmo/fork_join:call?dry_run=true";
    api.post(path, body("c1", json!({}))).await.expect_error(400, "bad_request");
    // Once it is carried out there is nothing left to hand over.
    as_turn(&api, &leased, "fork_join", body("c1", json!({}))).await.expect(200);
    let told = dry("c1", json!({})).await.expect(200);
    assert_eq!((&told["tasks"], &told["status"]), (&json!([]), &json!("dry_run")), "{told}");
}

async fn x_10_a_box_that_a_turn_writes_is_written_by_it_alone(api: Api) {
    let leased = at_work(&api).await;
    api.think(&leased, "mine").await;
    let (card, shown) = (api.card("p1", "not mine").await, api.shown("p1", &leased.output).await);
    let append = format!("/projects/p1/l0/boxes/{}/cards", leased.output);
    let rewrite = format!("/projects/p1/l0/boxes/{}:rewrite", leased.output);
    for path in [&append, &rewrite] {
        api.post(path, json!({ "card_ids": [card] })).await.expect_error(409, "output_box_in_use");
    }
    assert_eq!(api.shown("p1", &leased.output).await, shown);
    api.finish(&leased, "success").await;
    api.post(&append, json!({ "card_ids": [card] })).await.expect(200);
}

async fn pm_07_an_output_box_that_was_given_to_others_is_replaced(api: Api) {
    let leased = at_work(&api).await;
    api.think(&leased, "done").await;
    api.finish(&leased, "success").await;
    let reuse = async || {
        let args = args(json!({ "target_strategy": "reuse", "target_ref": "boss" }));
        let body = json!({ "caller_agent_id": "boss", "args": args });
        api.post("/projects/p1/pmo/delegate_async:call", body).await.expect(200)["result"].clone()
    };
    // Somebody is given what it has written: that box takes no more.
    api.dispatch_with("reader", json!({ "context_box_id": leased.output })).await;
    let given = reuse().await;
    assert_eq!(given["status"], "accepted");
    assert_ne!(given["output_box_id"], leased.output.as_str());
}

async fn names_are_found_and_told_as_everywhere(api: Api) {
    api.profile("p1").await;
    let added = api.post("/projects/p1/agents", json!({ "agent_id": "a", "profile_name": "hELPER" })).await;
    assert_eq!(added.expect(201)["profile_name"], "Helper");
    let body = json!({ "caller_agent_id": "a", "args": {} });
    api.post("/projects/p1/pmo/nothing:call", body).await.expect_error(404, "tool_definition_missing");
    let body =
        json!({ "caller_agent_id": "a", "args": { "action": 5, "agent_id": "b", "profile_name": "Helper" } });
    let told = api.post("/projects/p1/pmo/provision_agent:call", body).await.expect(200);
    assert_eq!(told["result"]["error_code"], "invalid_action");
    for policy in [json!({ "target_profile": ["Foo"] }), json!({ "target_profiles": "Foo" }), json!([])] {
        let body = json!({ "worker_target": "w", "delegation_policy": policy });
        let put = api.with(&api.admin, "PUT", "/projects/p1/profiles/P", &body.to_string()).await;
        put.expect_error(400, "bad_request");
    }
}

/// Whoever makes it, and where it would only say what it would do.
async fn cb_19_a_call_of_another_epoch_is_stale(api: Api) {
    let leased = at_work(&api).await;
    for (token, query) in [
        (&leased.token, ""),
        (&leased.token, "?dry_run=true"),
        (&api.admin, ""),
        (&api.admin, "?dry_run=true"),
    ] {
        let call = async |epoch: u64| {
            let body = json!({ "caller_agent_id": "boss", "turn_epoch": epoch, "args": args(json!({})) });
            let path = format!("/projects/p1/pmo/delegate_async:call{query}");
            api.with(token, "POST", &path, &body.to_string()).await
        };
        call(leased.epoch + 1).await.expect_error(409, "stale_turn");
        call(leased.epoch).await.expect(200);
    }
}
