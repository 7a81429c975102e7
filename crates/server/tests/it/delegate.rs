//! Handing work to agents over HTTP (SPEC.md, PMO handlers).

use crate::support::{Api, Leased, NOBODY, Reply, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    a_new_agent_gets_the_work;
    arguments_are_read_strictly;
    an_agent_that_is_there_is_used_again;
    a_copy_is_given_what_its_source_has_written;
    boxes_are_inherited_in_order;
    a_principal_and_an_expert_are_new_agents;
    what_is_refused_leaves_the_call_and_its_answer_only;
    a_policy_is_kept;
    depth_comes_from_the_callers_turn;
    a_turn_hands_on_only_what_was_handed_to_it;
    a_repeated_call_is_one_call;
    agents_are_provisioned;
    a_recipe_becomes_a_tool;
    pk_22_what_is_required_may_be_a_kind_of_cards_that_is_inherited;
    a_dry_run_of_a_call_writes_nothing;
    what_an_agent_is_does_not_change;
}

fn path(tool: &str) -> String {
    format!("/projects/p1/pmo/{tool}:call")
}

async fn call(api: &Api, tool: &str, args: Value) -> Reply {
    api.post(&path(tool), json!({ "caller_agent_id": "boss", "args": args })).await
}

async fn delegate(api: &Api, strategy: &str, target: &str, more: Value) -> Reply {
    let mut args = json!({ "target_strategy": strategy, "target_ref": target, "instruction": "Look it up." });
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call(api, "delegate_async", args).await
}

async fn roster(api: &Api) -> Vec<Value> {
    api.get("/projects/p1/agents?limit=500").await.expect(200)["items"].as_array().unwrap().clone()
}

/// How many boxes, cards and agents there are.
async fn census(api: &Api) -> (usize, usize, usize) {
    let project = "p1".parse().unwrap();
    let boxes = api.store.scan_boxes(&project, None, 1_000).await.unwrap().len();
    (boxes, api.store.scan_cards(&project, None, 1_000).await.unwrap().len(), roster(api).await.len())
}

/// The kinds and contents of a box's cards.
async fn context(api: &Api, result: &Value) -> Vec<Value> {
    let id = result["context_box_id"].as_str().unwrap();
    api.get(&format!("/projects/p1/boxes/{id}/cards")).await.expect(200).as_array().unwrap().clone()
}

fn ids(cards: &[Value]) -> Vec<String> {
    cards.iter().map(|card| card["card_id"].as_str().unwrap().to_owned()).collect()
}

/// The next turn, running.
async fn claim_one(api: &Api) -> Leased {
    api.claim_with(json!({ "max_turns": 1, "start": true })).await.remove(0)
}

/// Ends the next turn with these cards in its output box; gives the box.
async fn works(api: &Api, cards: &[&str]) -> String {
    let leased = claim_one(api).await;
    for text in cards {
        let card = json!({ "content": text, "metadata": { "type": "agent.thought" } });
        assert!(api.verb(&leased, "/cards", card).await.status.is_success());
    }
    api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": "done" })).await.expect(200);
    leased.output
}

/// PM-05, PM-06, PM-10, PM-11, PM-15, PK-16
async fn a_new_agent_gets_the_work(api: Api) {
    let profile = api.profile("p1").await;
    api.agent("boss").await;
    let answer = delegate(&api, "NEW", " Helper ", json!({})).await.expect(200);
    assert_eq!(answer["status"], "success");
    let result = &answer["result"];
    assert_eq!((&result["status"], &result["turn_epoch"]), (&json!("accepted"), &json!(1)));
    let id = result["agent_id"].as_str().unwrap();
    assert!(id.starts_with(&format!("{profile}_")), "{id}");

    let agent = api.get(&format!("/projects/p1/agents/{id}")).await.expect(200);
    assert_eq!(
        (&agent["owner_agent_id"], &agent["metadata"]),
        (&json!("boss"), &json!({ "spawned_by": "boss" }))
    );
    let edges = api.get(&format!("/projects/p1/state/identity/edges?agent_id={id}")).await.expect(200);
    assert_eq!(edges["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&edges["items"][0]["action"], &edges["items"][0]["source_agent_id"]),
        (&json!("provision"), &json!("boss"))
    );

    let cards = context(&api, result).await;
    let kinds: Vec<_> = cards.iter().map(|card| card["metadata"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["task.instruction", "meta.parent_pointer"]);
    assert_eq!(
        (&cards[0]["content"], &cards[0]["metadata"]["author_id"]),
        (&json!("Look it up."), &json!("delegate_async"))
    );
    assert_eq!(cards[1]["content"], json!({ "parent_agent_id": "boss" }));

    let card = answer["tool_result_card_id"].as_str().unwrap();
    let card = api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
    assert_eq!((&card["content"]["status"], &card["content"]["result"]), (&json!("success"), result));
    assert_eq!(
        (&card["tool_call_id"], &card["metadata"]["author_id"]),
        (&answer["tool_call_id"], &json!("sys.pmo"))
    );
    let leased = claim_one(&api).await;
    assert_eq!(
        (leased.turn.as_str(), leased.agent.as_str()),
        (result["agent_turn_id"].as_str().unwrap(), id)
    );
    assert_eq!(json!(leased.output), result["output_box_id"]);
}

/// PM-05, W-10
async fn arguments_are_read_strictly(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let good = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x" });
    for (name, bad, message) in [
        ("target_strategy", Value::Null, "delegate_async: args.target_strategy is required"),
        ("target_strategy", json!("some"), "must be one of new|reuse|clone"),
        ("target_strategy", json!(1), "must be a string"),
        ("target_ref", json!("  "), "delegate_async: args.target_ref is required"),
        ("instruction", json!(""), "delegate_async: args.instruction is required"),
        ("instruction", json!(["x"]), "must be a string"),
        ("context_box_id", json!(true), "must be a string"),
        ("extra", json!(1), "is not known"),
    ] {
        let mut args = good.clone();
        args[name] = bad;
        let reply = call(&api, "delegate_async", args).await;
        reply.expect_error(400, "bad_request");
        let text = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(text.contains(message), "{text}");
        assert!(reply.json()["error"]["detail"]["field"].as_str().unwrap().ends_with(name));
    }
    call(&api, "no_such_tool", json!({})).await.expect_error(404, "tool_definition_missing");
    for (tool, args) in [
        ("launch_principal", json!({ "instruction": "x" })),
        ("launch_principal", json!({ "profile_name": "Helper" })),
        ("ask_expert", json!({ "question": "x" })),
        ("ask_expert", json!({ "expert_profile": "Helper", "question": "x", "include_history": "true" })),
    ] {
        call(&api, tool, args).await.expect_error(400, "bad_request");
    }
    let stranger = json!({ "caller_agent_id": "nobody", "args": good });
    api.post(&path("delegate_async"), stranger).await.expect_error(404, "not_found");
    for body in
        [json!({}), json!({ "caller_agent_id": "boss", "args": [] }), json!({ "caller_agent_id": "a b" })]
    {
        api.post(&path("delegate_async"), body).await.expect_error(400, "bad_request");
    }
    assert_eq!(roster(&api).await.len(), 1);
}

/// PM-07
async fn an_agent_that_is_there_is_used_again(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    api.agent("helper").await;
    let first = delegate(&api, "reuse", "helper", json!({})).await.expect(200)["result"].clone();
    let queued = delegate(&api, "reuse", "helper", json!({})).await.expect(200)["result"].clone();
    assert_eq!((&first["agent_id"], &first["turn_epoch"]), (&json!("helper"), &json!(1)));
    assert_eq!((&queued["status"], &queued["turn_epoch"]), (&json!("accepted"), &Value::Null));
    assert_eq!(queued["output_box_id"], first["output_box_id"]);
    works(&api, &[]).await;
    works(&api, &[]).await;
    let last = delegate(&api, "reuse", "helper", json!({})).await.expect(200)["result"].clone();
    assert_eq!(last["output_box_id"], first["output_box_id"]);
    assert_ne!(last["context_box_id"], first["context_box_id"]);
    assert_eq!(roster(&api).await.len(), 2);
    // A project may want that two turns never share a box while one of them is live.
    let strict = json!({ "settings": { "output": { "single_writer": "strict" } } }).to_string();
    api.with(&api.admin, "PATCH", "/projects/p1", &strict).await.expect(200);
    let other = delegate(&api, "reuse", "helper", json!({})).await.expect(200)["result"].clone();
    assert_ne!(other["output_box_id"], first["output_box_id"]);
    works(&api, &[]).await;
    works(&api, &[]).await;
    let after = delegate(&api, "reuse", "helper", json!({})).await.expect(200)["result"].clone();
    assert_eq!(after["output_box_id"], other["output_box_id"], "nothing of it is live");
    delegate(&api, "reuse", "nobody", json!({})).await.expect_error(404, "not_found");
    delegate(&api, "reuse", "no body", json!({})).await.expect_error(404, "not_found");
}

/// PM-08
async fn a_copy_is_given_what_its_source_has_written(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    api.agent("source").await;
    let reply = delegate(&api, "clone", "source", json!({})).await;
    reply.expect_error(400, "bad_request");
    assert!(reply.json()["error"]["message"].as_str().unwrap().contains("source output_box missing"));
    assert_eq!(roster(&api).await.len(), 2);
    delegate(&api, "reuse", "source", json!({})).await.expect(200);
    let output = works(&api, &["one", "two"]).await;
    let written = api.shown("p1", &output).await;
    let result = delegate(&api, "clone", "source", json!({})).await.expect(200)["result"].clone();
    let shown = ids(&context(&api, &result).await);
    assert_eq!(shown[1..shown.len() - 1], written);
    let agent =
        api.get(&format!("/projects/p1/agents/{}", result["agent_id"].as_str().unwrap())).await.expect(200);
    assert_eq!(
        (&agent["owner_agent_id"], &agent["metadata"]["derived_from"]),
        (&json!("source"), &json!("source"))
    );
    assert_eq!(agent["profile_name"], "Helper");
    assert_ne!(result["output_box_id"], json!(output));
}

/// PM-09, PK-12
async fn boxes_are_inherited_in_order(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    api.agent("source").await;
    delegate(&api, "reuse", "source", json!({})).await.expect(200);
    let output = works(&api, &["one"]).await;
    let written = api.shown("p1", &output).await;
    let other = api.card("p1", "other").await;
    let given = api.make_box("p1", &[written[0].clone(), other.clone()]).await;
    let result = delegate(&api, "clone", "source", json!({ "context_box_id": given })).await.expect(200);
    let shown = ids(&context(&api, &result["result"]).await);
    let mut expected = vec![written[0].clone(), other];
    expected.extend(written[1..].iter().cloned());
    assert_eq!(shown[1..shown.len() - 1], expected);
    for unknown in [NOBODY, "b1"] {
        let reply = delegate(&api, "new", "Helper", json!({ "context_box_id": unknown })).await;
        reply.expect_error(404, "not_found");
    }
}

/// PM-12, PM-13
async fn a_principal_and_an_expert_are_new_agents(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let args = json!({ "profile_name": "Helper", "instruction": "Begin." });
    let result = call(&api, "launch_principal", args).await.expect(200)["result"].clone();
    let cards = context(&api, &result).await;
    assert_eq!(cards.len(), 2);
    assert_eq!(cards[0]["metadata"]["author_id"], "launch_principal");
    works(&api, &[]).await;

    let ask =
        |history: bool| json!({ "expert_profile": "Helper", "question": "Why?", "include_history": history });
    call(&api, "ask_expert", ask(true)).await.expect_error(400, "bad_request");
    let result = call(&api, "ask_expert", ask(false)).await.expect(200)["result"].clone();
    assert_eq!(context(&api, &result).await.len(), 2);
    works(&api, &[]).await;
    delegate(&api, "reuse", "boss", json!({})).await.expect(200);
    let output = works(&api, &["a", "b"]).await;
    let result = call(&api, "ask_expert", ask(true)).await.expect(200)["result"].clone();
    let cards = context(&api, &result).await;
    assert_eq!(cards[0]["content"], "Why?");
    assert_eq!(ids(&cards)[1..cards.len() - 1], api.shown("p1", &output).await);
}

/// PM-11, PM-16, PK-20
async fn what_is_refused_leaves_the_call_and_its_answer_only(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let project = "p1".parse().unwrap();
    let boxes = async || api.store.scan_boxes(&project, None, 1_000).await.unwrap().len();
    let before = (boxes().await, roster(&api).await.len());
    let reply = delegate(&api, "new", "Nope", json!({})).await;
    reply.expect_error(404, "not_found");
    let card = reply.json()["error"]["detail"]["tool_result_card_id"].as_str().unwrap().to_owned();
    let card = api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
    assert_eq!(
        (&card["content"]["status"], &card["content"]["error"]["code"]),
        (&json!("failed"), &json!("not_found"))
    );
    assert_eq!(card["content"]["error"]["source"], "sys.pmo");
    assert_eq!((boxes().await, roster(&api).await.len()), before);
}

/// PM-14
async fn a_policy_is_kept(api: Api) {
    api.profile("p1").await;
    let profile = json!({ "worker_target": "w1", "system_prompt": "x", "delegation_policy": { "target_profiles": ["Other"] } });
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Strict", &profile.to_string()).await.expect(201);
    let agent = json!({ "agent_id": "boss", "profile_name": "Strict" });
    api.post("/projects/p1/agents", agent).await.expect(201);
    delegate(&api, "new", "Helper", json!({})).await.expect_error(403, "forbidden");
    assert_eq!(roster(&api).await.len(), 1);
    // SEC-05
    let denied = &api.items("audit").await[0];
    assert_eq!((&denied["action"], &denied["verdict"]), (&json!("access.denied"), &json!("denied")));
    assert_eq!((&denied["subject"], &denied["detail"]["tool"]), (&json!("boss"), &json!("delegate_async")));
    // A profile that is gone still binds the agents that have it.
    api.with(&api.admin, "DELETE", "/projects/p1/profiles/Strict", "").await.expect(204);
    delegate(&api, "new", "Helper", json!({})).await.expect_error(403, "forbidden");
    let open = json!({ "worker_target": "w1", "system_prompt": "x", "delegation_policy": { "target_profiles": null } });
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Strict", &open.to_string()).await.expect(201);
    delegate(&api, "new", "Helper", json!({})).await.expect(200);
}

/// DP-04, PM-11
async fn depth_comes_from_the_callers_turn(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let settings = json!({ "settings": { "max_recursion_depth": 2 } });
    api.with(&api.admin, "PATCH", "/projects/p1", &settings.to_string()).await.expect(200);
    delegate(&api, "reuse", "boss", json!({})).await.expect(200);
    let child = delegate(&api, "new", "Helper", json!({})).await.expect(200)["result"].clone();
    let turn = child["agent_turn_id"].as_str().unwrap();
    let edges =
        api.get(&format!("/projects/p1/state/execution/edges?agent_turn_id={turn}")).await.expect(200);
    let depths: Vec<_> =
        edges["items"].as_array().unwrap().iter().map(|edge| edge["depth"].clone()).collect();
    assert_eq!(depths, [json!(1)]);
    let before = roster(&api).await.len();
    let body = json!({ "caller_agent_id": child["agent_id"], "args": {
        "target_strategy": "new", "target_ref": "Helper", "instruction": "deeper" } });
    let answer = api.post(&path("delegate_async"), body).await.expect(200);
    assert_eq!(answer["status"], "failed");
    assert_eq!(
        (&answer["result"]["status"], &answer["result"]["error_code"]),
        (&json!("rejected"), &json!("recursion_depth_exceeded"))
    );
    assert_eq!(answer["result"]["agent_id"], Value::Null, "nobody was made, and the profile is no agent");
    assert_eq!(roster(&api).await.len(), before);
}

/// X-04, W-09
async fn a_turn_hands_on_only_what_was_handed_to_it(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let secret = api.make_box("p1", &api.cards("p1", 1).await).await;
    let given = delegate(&api, "reuse", "boss", json!({})).await.expect(200)["result"].clone();
    let leased = claim_one(&api).await;
    let as_turn = async |token: &str, context: &Value| {
        let body = json!({ "caller_agent_id": "boss", "agent_turn_id": leased.turn, "args": {
            "target_strategy": "new", "target_ref": "Helper", "instruction": "x", "context_box_id": context } });
        api.with(token, "POST", &path("delegate_async"), &body.to_string()).await
    };
    let before = roster(&api).await.len();
    as_turn(&leased.token, &json!(secret)).await.expect_error(403, "unauthorized_box");
    assert_eq!(roster(&api).await.len(), before);
    as_turn(&leased.token, &given["context_box_id"]).await.expect(200);
    as_turn(&leased.token, &given["output_box_id"]).await.expect(200);
    as_turn(&api.admin, &json!(secret)).await.expect(200);
    let settings = json!({ "settings": { "acl": { "inherit": "audit" } } });
    api.with(&api.admin, "PATCH", "/projects/p1", &settings.to_string()).await.expect(200);
    as_turn(&leased.token, &json!(secret)).await.expect(200);
    // Another agent's name, and a turn that has ended.
    api.agent("other").await;
    let body = json!({ "caller_agent_id": "other", "agent_turn_id": leased.turn, "args": {
        "target_strategy": "new", "target_ref": "Helper", "instruction": "x" } });
    let before = census(&api).await;
    api.with(&leased.token, "POST", &path("delegate_async"), &body.to_string())
        .await
        .expect_error(403, "forbidden");
    let body = json!({ "caller_agent_id": "other", "agent_turn_id": leased.turn, "args": {
        "agent_id": "made", "profile_name": "Helper" } });
    api.with(&leased.token, "POST", &path("provision_agent"), &body.to_string())
        .await
        .expect_error(403, "forbidden");
    assert_eq!(census(&api).await, before, "nothing is written in another's name");
    api.verb(&leased, ":finish", json!({ "status": "success", "deliverable": "done" })).await.expect(200);
    let late = as_turn(&leased.token, &given["context_box_id"]).await;
    assert!(late.status.is_client_error(), "{}", late.json());
}

/// API-16
async fn a_repeated_call_is_one_call(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let bearer = format!("Bearer {}", api.admin);
    let send = async || {
        let body = json!({ "caller_agent_id": "boss", "args": {
            "target_strategy": "new", "target_ref": "Helper", "instruction": "x" } });
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
        api.request("POST", &path("delegate_async"), &headers, body.to_string()).await.expect(200)
    };
    let first = send().await;
    assert_eq!(send().await, first);
    assert_eq!(roster(&api).await.len(), 2);
}

async fn provision(api: &Api, args: Value) -> Value {
    call(api, "provision_agent", args).await.expect(200)
}

#[track_caller]
fn refused(answer: &Value, code: &str) {
    assert_eq!(answer["status"], "failed", "{answer}");
    assert_eq!(
        (&answer["result"]["status"], &answer["result"]["error_code"]),
        (&json!("rejected"), &json!(code))
    );
}

/// PM-02, PM-04
async fn agents_are_provisioned(api: Api) {
    let profile = api.profile("p1").await;
    api.agent("boss").await;
    let args = json!({ "action": "create", "agent_id": "a", "profile_name": "Helper", "tags": ["fast"] });
    let made = provision(&api, args.clone()).await;
    assert_eq!(
        (&made["result"]["created"], &made["result"]["profile_box_id"]),
        (&json!(true), &json!(profile))
    );
    assert_eq!(
        (&made["result"]["owner_agent_id"], &made["result"]["worker_target"]),
        (&json!("boss"), &json!("w1"))
    );
    assert_eq!(provision(&api, args).await["result"]["created"], false);
    let ensured =
        provision(&api, json!({ "agent_id": "a", "metadata": { "k": 1 }, "display_name": "A" })).await;
    assert_eq!(ensured["result"]["created"], false);
    let edges = api.get("/projects/p1/state/identity/edges?agent_id=a").await.expect(200);
    let actions: Vec<_> =
        edges["items"].as_array().unwrap().iter().map(|edge| edge["action"].clone()).collect();
    assert_eq!(actions, [json!("update"), json!("provision")], "the repeat changed nothing");

    let derived = provision(&api, json!({ "action": "derive", "agent_id": "b", "derived_from": "a" })).await;
    assert_eq!(
        (&derived["result"]["owner_agent_id"], &derived["result"]["tags"]),
        (&json!("a"), &json!(["fast"]))
    );
    let agent = api.get("/projects/p1/agents/b").await.expect(200);
    assert_eq!(agent["metadata"]["derived_from"], "a");

    let before = roster(&api).await;
    for (args, code) in [
        (json!({ "action": "remove", "agent_id": "c" }), "invalid_action"),
        (json!({ "profile_name": "Helper" }), "missing_agent_id"),
        (json!({ "agent_id": "c", "profile_name": "Helper", "tags": "x" }), "invalid_tags"),
        (json!({ "agent_id": "c", "profile_name": "Helper", "tags": [1] }), "invalid_tags"),
        (json!({ "agent_id": "c", "profile_name": "Helper", "metadata": [] }), "invalid_metadata"),
        (json!({ "agent_id": "c", "profile_name": "Nope" }), "profile_not_found"),
        (json!({ "agent_id": "c" }), "profile_not_found"),
        (json!({ "action": "derive", "agent_id": "c" }), "missing_derived_from"),
        (json!({ "action": "derive", "agent_id": "a", "derived_from": "boss" }), "derived_agent_conflict"),
    ] {
        refused(&provision(&api, args).await, code);
    }
    call(&api, "provision_agent", json!({ "action": "derive", "agent_id": "c", "derived_from": "nobody" }))
        .await
        .expect_error(404, "not_found");
    call(&api, "provision_agent", json!({ "agent_id": "a b", "profile_name": "Helper" }))
        .await
        .expect_error(400, "bad_request");
    assert_eq!(roster(&api).await, before);
}

/// PM-03
async fn what_an_agent_is_does_not_change(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    provision(&api, json!({ "agent_id": "a", "profile_name": "Helper", "metadata": { "k": 1, "l": 1 } }))
        .await;
    let other = json!({ "worker_target": "w2", "system_prompt": "x" }).to_string();
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Other", &other).await.expect(201);
    for (change, what) in [
        (json!({ "profile_name": "Other" }), "profile"),
        (json!({ "owner_agent_id": "somebody" }), "owner"),
        (json!({ "worker_target": "w2" }), "worker_target"),
        (json!({ "tags": ["new"] }), "tags"),
    ] {
        let mut args = json!({ "agent_id": "a" });
        args.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        refused(&provision(&api, args).await, &format!("existing_agent_{what}_mutation_forbidden"));
    }
    provision(&api, json!({ "agent_id": "a", "metadata": { "k": 2 }, "display_name": "A" })).await;
    let agent = api.get("/projects/p1/agents/a").await.expect(200);
    assert_eq!((&agent["metadata"], &agent["display_name"]), (&json!({ "k": 2, "l": 1 }), &json!("A")));
}

/// PK-21
async fn a_dry_run_of_a_call_writes_nothing(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let cards = api.cards("p1", 2).await;
    let given = api.make_box("p1", &cards).await;
    let before = census(&api).await;
    let dry = async |tool: &str, args: Value| {
        api.post(&format!("{}?dry_run=true", path(tool)), json!({ "caller_agent_id": "boss", "args": args }))
            .await
    };
    let args = |context: &str| json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x", "context_box_id": context });
    let told = dry("delegate_async", args(&given)).await.expect(200);
    assert_eq!((&told["status"], &told["tool_call_id"]), (&json!("dry_run"), &Value::Null));
    let origins: Vec<_> =
        told["preflight"]["cards"].as_array().unwrap().iter().map(|card| card["origin"].clone()).collect();
    assert_eq!(origins, [json!("argument"), json!("box"), json!("box"), json!("parent")]);
    assert_eq!(told["preflight"]["ok"], true);
    let told = dry("delegate_async", args(NOBODY)).await.expect(200);
    assert_eq!(
        (&told["preflight"]["ok"], &told["preflight"]["missing_box_ids"]),
        (&json!(false), &json!([NOBODY]))
    );
    dry("delegate_async", json!({})).await.expect_error(400, "bad_request");
    dry("provision_agent", json!({ "agent_id": "a" })).await.expect_error(400, "bad_request");
    assert_eq!(census(&api).await, before);
}

/// PK-18, PK-22, PM-20, API-07
async fn a_recipe_becomes_a_tool(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let put = async |name: &str, body: Value| {
        api.with(&api.admin, "PUT", &format!("/projects/p1/recipes/{name}"), &body.to_string()).await
    };
    let recipe = json!({
        "description": "Ask for a review.",
        "handover": {
            "target_profile_config": { "profile_name": "Helper" },
            "context_packing_config": {
                "pack_arguments": [
                    { "arg_key": "task" },
                    { "arg_key": "fields", "as_card_type": "task.result_fields", "card_metadata": { "role": "system" } },
                ],
                "inherit_context": { "include_boxes_from_args": ["draft"], "include_parent": false },
            },
        },
        "required": ["task", "draft"],
    });
    let made = put("review", recipe.clone()).await.expect(201);
    assert_eq!((&made["name"], &made["handover"]), (&json!("review"), &recipe["handover"]));
    assert_eq!(put("review", recipe.clone()).await.expect(200)["card_id"], made["card_id"]);
    let listed = api.get("/projects/p1/recipes").await.expect(200);
    assert_eq!(listed["items"], json!([made]));
    assert_eq!(api.get("/projects/p1/recipes/review").await.expect(200), made);

    let ids = api.cards("p1", 2).await;
    let draft = api.make_box("p1", &ids).await;
    let fields = json!([{ "name": "verdict", "description": "yes or no" }]);
    let args = json!({ "task": "Review it.", "draft": draft, "fields": fields });
    let answer = call(&api, "review", args.clone()).await.expect(200);
    assert_eq!((&answer["status"], &answer["result"]["status"]), (&json!("success"), &json!("accepted")));
    let cards = context(&api, &answer["result"]).await;
    assert_eq!(cards.len(), 4);
    assert_eq!(
        (&cards[0]["content"], &cards[0]["metadata"]["author_id"]),
        (&json!("Review it."), &json!("review"))
    );
    assert_eq!((&cards[1]["metadata"]["role"], &cards[1]["content"]["fields"]), (&json!("system"), &fields));
    assert_eq!(self::ids(&cards)[2..], ids);

    let before = roster(&api).await;
    for missing in ["task", "draft"] {
        let mut args = args.clone();
        args[missing] = Value::Null;
        let reply = call(&api, "review", args).await;
        reply.expect_error(400, "bad_request");
        assert_eq!(
            reply.json()["error"]["detail"]["field"],
            format!("args/{missing}"),
            "as the body names it"
        );
    }
    let mut odd = args.clone();
    odd["draft"] = json!([7.5]);
    assert_eq!(call(&api, "review", odd).await.json()["error"]["detail"]["field"], "args/draft");
    assert_eq!(roster(&api).await, before);
    for (name, body) in [
        ("delegate_async", recipe.clone()),
        ("fork_join", recipe.clone()),
        ("x", json!({})),
        ("x", json!({ "handover": {} })),
        ("x", json!({ "handover": recipe["handover"], "required": "task" })),
        ("x", json!({ "handover": recipe["handover"], "rules": [] })),
        ("x", json!({ "name": "y", "handover": recipe["handover"] })),
    ] {
        put(name, body).await.expect_error(400, "bad_request");
    }
    api.delete("/projects/p1/recipes/review").await.expect(204);
    call(&api, "review", args).await.expect_error(404, "tool_definition_missing");
    api.get("/projects/p1/recipes/review").await.expect_error(404, "not_found");
    api.delete("/projects/p1/recipes/review").await.expect_error(404, "not_found");
    assert_eq!(put("review", recipe).await.expect(201)["card_id"].as_str().map(str::len), Some(32));
}

async fn pk_22_what_is_required_may_be_a_kind_of_cards_that_is_inherited(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let recipe = json!({
        "handover": {
            "target_profile_config": { "profile_name": "Helper" },
            "context_packing_config": { "inherit_context": { "include_boxes_from_args": ["draft"] } },
        },
        "required": ["agent.thought"],
    });
    api.with(&api.admin, "PUT", "/projects/p1/recipes/think", &recipe.to_string()).await.expect(201);
    let thought = json!({ "content": "Hm.", "metadata": { "type": "agent.thought" } });
    let thought = api.post("/projects/p1/l0/cards", thought).await.expect(201)["card_id"].clone();
    let with = api.make_box("p1", &[thought.as_str().unwrap().to_owned()]).await;
    let without = api.make_box("p1", &api.cards("p1", 1).await).await;
    call(&api, "think", json!({ "draft": with })).await.expect(200);
    call(&api, "think", json!({ "draft": without })).await.expect_error(400, "bad_request");
}
