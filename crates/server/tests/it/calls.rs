//! Model calls over HTTP: composed for a turn, kept as manifests, shown again (SPEC.md, Manifests; Validity, budgets).

mod as_of;
mod budget;
mod explain;
mod input;
mod spans;
mod summary;

use crate::support::{Api, Leased, NOBODY, on_both, on_sqlite};
use cardwire_model::{CanonicalJson, Commit, Hash256, ProjectId, Write};
use cardwire_testkit::{SeededIds, fixtures::CardBuilder};
use serde_json::{Value, json};

on_both! {
    rp_02_a_call_is_rendered_again_byte_for_byte;
    ob_04_a_deletion_changes_no_cost_of_the_past;
    ob_04_rows_come_to_the_total;
    rp_02_a_call_of_an_earlier_build_is_rendered_as_it_was;
}

on_sqlite! {
    rp_01_a_call_is_kept_as_references;
    rp_02_what_is_missing_is_named;
    ob_01_a_call_without_a_result_is_repaired;
    ob_05_a_call_knows_what_it_shares_with_the_last;
    wk_04_result_fields_are_said_in_the_system_prompt;
    cc_03_no_agent_sees_anothers_system_prompt;
    cc_08_without_sharing_there_are_prompt_memory_and_question;
    st_07_the_memory_of_the_session_comes_before_the_question;
    the_profile_says_what_the_request_does_not;
    api_17_a_step_that_is_written_again_keeps_its_call;
}

async fn call(api: &Api, leased: &Leased, more: Value) -> Value {
    let mut body = json!({ "model": "m-1" });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    api.verb(leased, "/calls", body).await.expect(201)
}

async fn show(api: &Api, call: &Value, query: &str) -> Value {
    let id = call["call_id"].as_str().unwrap();
    api.get(&format!("/projects/p1/calls/{id}/context{query}")).await.expect(200)
}

/// The request that a call came to.
fn request(call: &Value) -> Value {
    serde_json::from_str(call["request"].as_str().unwrap()).unwrap()
}

/// `(role, content)` of every message.
fn said(request: &Value) -> Vec<(String, String)> {
    let text = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|message| (text(message, "role"), text(message, "content"))).collect()
}

/// A turn that runs on these cards.
async fn on(api: &Api, agent: &str, cards: &[String], more: Value) -> Leased {
    let mut order = json!({ "context_box_id": api.make_box("p1", cards).await });
    for (name, value) in more.as_object().unwrap() {
        order[name] = value.clone();
    }
    let turn = api.dispatch_with(agent, order).await;
    let leases = api.claim_with(json!({ "start": true })).await;
    leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
}

async fn rp_01_a_call_is_kept_as_references(api: Api) {
    let card = api.card("p1", "look up the red boat").await;
    let leased = on(&api, "a1", std::slice::from_ref(&card), json!({})).await;
    let tools = json!([{ "type": "function", "function": { "name": "look" } }]);
    let made = call(&api, &leased, json!({ "tools": tools, "params": { "temperature": 0.5 } })).await;
    let body = made["request"].as_str().unwrap();
    assert_eq!(made["request_sha256"], json!(Hash256::of(body.as_bytes()).to_string()));
    assert_eq!((&made["provider"], &made["model"]), (&json!("openai-chat"), &json!("m-1")));
    let sent = request(&made);
    assert_eq!((&sent["model"], &sent["tools"], &sent["temperature"]), (&json!("m-1"), &tools, &json!(0.5)));
    let messages = said(&sent);
    assert_eq!(messages[0], ("system".to_owned(), "Help.".to_owned()));
    assert_eq!(messages.last().unwrap(), &("user".to_owned(), "look up the red boat".to_owned()));

    let id = made["call_id"].as_str().unwrap();
    let kept = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
    assert_eq!(kept["type"], "sys.manifest");
    assert!(!kept.to_string().contains("look up the red boat"), "references, never the prompt: {kept}");
    let shown = show(&api, &made, "").await;
    assert_eq!((&shown["call_id"], &shown["manifest"]), (&made["call_id"], &kept["content"]));
    for absent in ["messages", "request", "hash_ok", "missing"] {
        assert!(shown.get(absent).is_none(), "{absent}");
    }
    let manifest = &shown["manifest"];
    for (name, expected) in [
        ("agent_id", json!("a1")),
        ("agent_turn_id", json!(leased.turn)),
        ("step_id", made["step_id"].clone()),
        ("total_tokens", made["total_tokens"].clone()),
        ("request_sha256", made["request_sha256"].clone()),
        ("placement", json!("seed")),
        ("params", json!({ "temperature": 0.5 })),
    ] {
        assert_eq!(manifest[name], expected, "{name}");
    }
    for name in ["template", "tokenizer", "tool_set_hash", "tools_card_id", "created_at"] {
        assert!(manifest[name].is_string(), "{name}");
    }
    let entries: Vec<_> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            assert!(entry["tokens"].as_u64().unwrap() > 0, "{entry}");
            (text("layer"), text("context_key"), entry["block"].as_bool().unwrap(), text("reason"))
        })
        .collect();
    let expected = [
        ("system_prompt", "", true, "profile"),
        ("query", "", false, "instruction"),
        ("tools", "", true, "profile"),
    ];
    // F-10: there is no framework layer for tools that are not offered.
    assert_eq!(entries, expected);
    assert_eq!(shown["entries"][1]["card_id"], json!(card));
    assert_eq!(shown["entries"][2]["card_id"], manifest["tools_card_id"]);
    let steps = api.items("state/steps").await;
    assert_eq!((&steps[0]["call_id"], &steps[0]["step_id"]), (&made["call_id"], &made["step_id"]));
    assert!(api.shown("p1", &leased.output).await.is_empty(), "a record is no part of the conversation");
}

async fn rp_02_a_call_is_rendered_again_byte_for_byte(api: Api) {
    let card = json!({ "content": { "b": [1, 2.5], "a": "ü \" \\ \n" }, "metadata": { "type": "task.instruction" } });
    let card =
        api.post("/projects/p1/l0/cards", card).await.expect(201)["card_id"].as_str().unwrap().to_owned();
    let leased = on(&api, "a1", &[card], json!({})).await;
    let mut calls = vec![];
    for provider in ["openai-chat", "anthropic-messages"] {
        calls.push(call(&api, &leased, json!({ "provider": provider, "params": { "max_tokens": 9 } })).await);
        api.think(&leased, "hm").await;
    }
    // What comes later changes no call that was made.
    api.finish(&leased, "success").await;
    let restarted = api.again(cardwire_kernel::ContextConfig::default());
    for (made, server) in calls.iter().flat_map(|made| [(made, &api), (made, &restarted)]) {
        let shown = show(server, made, "?render=true").await;
        assert_eq!((&shown["request"], &shown["hash_ok"]), (&made["request"], &json!(true)));
        assert_eq!(shown["messages"], request(made)["messages"]);
        assert!(shown.get("missing").is_none());
    }
    let id = calls[0]["call_id"].as_str().unwrap();
    assert!(show(&api, &calls[0], "?render=false").await.get("request").is_none());
    api.get(&format!("/projects/p1/calls/{id}/context?render=maybe")).await.expect_error(400, "bad_request");
    let card = api.card("p1", "no call").await;
    for other in ["call_1", NOBODY, &card, "%00"] {
        let reply = api.get(&format!("/projects/p1/calls/{other}/context")).await;
        reply.expect_error(404, "not_found");
    }
}

async fn rp_02_what_is_missing_is_named(api: Api) {
    let cards = [api.card("p1", "background").await, api.card("p1", "do it").await];
    let leased = on(&api, "a1", &cards, json!({})).await;
    let made = call(&api, &leased, json!({})).await;
    let tokens = |shown: &Value| {
        let entries = shown["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["card_id"] == json!(cards[0])).unwrap();
        entry["tokens"].as_u64().unwrap()
    };
    let cost = tokens(&show(&api, &made, "").await);
    assert!(cost > 0);
    api.delete(&format!("/projects/p1/l0/cards/{}", cards[0])).await.expect(204);
    let shown = show(&api, &made, "?render=true").await;
    assert_eq!(shown["hash_ok"], false);
    let missing = shown["missing"].as_str().unwrap();
    assert!(missing.contains(&cards[0]) && !missing.contains(&cards[1]), "{missing}");
    assert!(shown.get("messages").is_none() && shown.get("request").is_none());
    assert_eq!(tokens(&shown), cost, "what was sent cost what it cost");
}

/// OB-04, RP-03: what is deleted later changes neither costs nor differences of calls that were made.
async fn ob_04_a_deletion_changes_no_cost_of_the_past(api: Api) {
    let cards = [api.card("p1", "a long background of many words").await, api.card("p1", "do it").await];
    let leased = on(&api, "a1", &cards, json!({})).await;
    let made = call(&api, &leased, json!({})).await;
    let usage = json!({ "usage": { "input_tokens": 100, "output_tokens": 2 } });
    let step = json!({ "step_id": made["step_id"], "phase": "answered", "metadata": usage });
    api.verb(&leased, "/steps", step).await.expect(201);
    let expiring = json!({
        "content": "soon gone", "metadata": { "type": "task.instruction" }, "ttl_seconds": 3_600,
    });
    let expiring = api.post("/projects/p1/l0/cards", expiring).await.expect(201);
    let other = on(&api, "a2", &[expiring["card_id"].as_str().unwrap().to_owned()], json!({})).await;
    let other = call(&api, &other, json!({})).await;
    let looked = async || {
        let (left, right) = (made["call_id"].as_str().unwrap(), other["call_id"].as_str().unwrap());
        let mut told = vec![];
        for path in [
            format!("cost?agent_turn_id={}&by=layer", leased.turn),
            format!("cost?agent_turn_id={}&by=card", leased.turn),
            format!("context:diff?left={left}&right={right}"),
            format!("context:why?call={left}&card={}", cards[0]),
        ] {
            told.push(api.get(&format!("/projects/p1/{path}")).await.expect(200));
        }
        told
    };
    let before = looked().await;
    for card in [cards[0].as_str(), expiring["card_id"].as_str().unwrap()] {
        api.delete(&format!("/projects/p1/l0/cards/{card}")).await.expect(204);
    }
    assert_eq!(looked().await, before);
}

/// F-10, RP-02: calls of earlier builds told everything as it is kept, and are rendered so.
async fn rp_02_a_call_of_an_earlier_build_is_rendered_as_it_was(api: Api) {
    let leased = api.running("a1").await;
    let calls =
        json!([{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } }]);
    let asks = json!({ "content": "", "metadata": { "type": "agent.thought" }, "tool_calls": calls });
    api.verb(&leased, "/cards", asks).await.expect(200);
    api.report(&leased, "c1", json!({ "result": "Seven boats." })).await.expect(200);
    let made = call(&api, &leased, json!({})).await;
    let now = made["request"].as_str().unwrap();
    let told = r#""tool_call_id":"c1","content":"Seven boats.""#;
    assert!(now.contains(told), "{now}");
    let kept = r#""tool_call_id":"c1","content":"{\"after_execution\":\"suspend\",\"error\":null,\"result\":\"Seven boats.\",\"status\":\"success\"}""#;
    let earlier = now.replace(told, kept);
    let mut manifest = show(&api, &made, "").await["manifest"].clone();
    manifest["template"] = "cw-1".into();
    manifest["request_sha256"] = Hash256::of(earlier.as_bytes()).to_string().into();
    // Nobody but the kernel writes such cards, so it is put where an earlier build would have left it.
    let content = CanonicalJson::from_value(&manifest).unwrap();
    let card = CardBuilder::content(content).kind("sys.manifest").build(SeededIds::new(5).card());
    let old = json!({ "call_id": card.id.to_string() });
    let mut commit = Commit::new("p1".parse::<ProjectId>().unwrap());
    commit.writes.push(Write::PutCard(Box::new(card)));
    api.store.commit(commit).await.unwrap();
    let shown = show(&api, &old, "?render=true").await;
    assert_eq!((&shown["request"], &shown["hash_ok"]), (&json!(earlier), &json!(true)), "{shown:#}");
    assert_eq!(show(&api, &made, "?render=true").await["hash_ok"], true);
}

/// F-05: rows come to the total, and what the provider counted otherwise is a row of its own.
async fn ob_04_rows_come_to_the_total(api: Api) {
    let leased = api.running("a1").await;
    let lost = json!([{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } }]);
    let lost = json!({ "content": "", "metadata": { "type": "agent.thought" }, "tool_calls": lost });
    api.verb(&leased, "/cards", lost).await.expect(200);
    let tools =
        json!([{ "type": "function", "function": { "name": "look", "description": "Looks around." } }]);
    for (number, counted) in [900_i64, 3].into_iter().enumerate() {
        let made = call(&api, &leased, json!({ "tools": tools })).await;
        let rows = async || {
            let shown = show(&api, &made, "").await;
            let rows = shown["rows"].as_array().unwrap().clone();
            let sum: i64 = rows.iter().map(|row| row["tokens"].as_i64().unwrap()).sum();
            assert_eq!(shown["input_tokens"], sum, "{shown:#}");
            (rows, sum)
        };
        let (before, sum) = rows().await;
        assert_eq!(made["total_tokens"], sum, "{before:?}");
        assert!(before.iter().any(|row| row["layer"] == "tools"), "{before:?}");
        let usage = json!({ "input_tokens": counted, "cached_tokens": 2, "output_tokens": 5 });
        let metadata = json!({ "usage": usage, "cost_micros": 101 });
        let step = json!({ "step_id": made["step_id"], "phase": "answered", "metadata": metadata });
        api.verb(&leased, "/steps", step).await.expect(201);
        let (after, sum) = rows().await;
        assert_eq!(sum, counted, "{after:?}");
        assert_eq!(after.last().unwrap()["layer"], "provider difference");
        for by in ["layer", "card"] {
            let cost = api
                .get(&format!("/projects/p1/cost?agent_turn_id={}&by={by}", leased.turn))
                .await
                .expect(200);
            for name in ["input_tokens", "cached_tokens", "output_tokens", "cost_micros"] {
                let items = cost["items"].as_array().unwrap().iter();
                let sum: i64 = items.map(|item| item[name].as_i64().unwrap()).sum();
                assert_eq!(cost["total"][name], sum, "{number} {by} {name}: {cost:#}");
            }
        }
    }
}

async fn ob_01_a_call_without_a_result_is_repaired(api: Api) {
    let leased = api.running("a1").await;
    let calls =
        json!([{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } }]);
    let body = json!({ "content": "", "metadata": { "type": "agent.thought" }, "tool_calls": calls });
    let card = api.verb(&leased, "/cards", body).await.expect(200)["card_ids"][0].clone();
    let before = api.shown("p1", &leased.output).await;
    for provider in ["openai-chat", "anthropic-messages"] {
        let made = call(&api, &leased, json!({ "provider": provider, "params": { "max_tokens": 9 } })).await;
        let repair =
            made["repairs"].as_array().unwrap().iter().find(|repair| repair["rule"] == "call_without_result");
        let repair = repair.unwrap_or_else(|| panic!("{made}"));
        assert_eq!(repair["card_id"], card);
        let sent = request(&made)["messages"].clone();
        let last = sent.as_array().unwrap().last().unwrap();
        let answers = match provider {
            "openai-chat" => &last["tool_call_id"],
            _ => &last["content"][0]["tool_use_id"],
        };
        assert_eq!(answers, "c1", "{sent}");
        // By adding a card, never by editing one.
        let added = repair["added_card_id"].as_str().unwrap();
        let kept = api.get(&format!("/projects/p1/cards/{added}")).await.expect(200);
        assert_eq!((&kept["type"], &kept["tool_call_id"]), (&json!("sys.repair"), &json!("c1")));
        assert_eq!(show(&api, &made, "?render=true").await["hash_ok"], true);
    }
    assert_eq!(api.shown("p1", &leased.output).await, before);
    // Answered, it needs no repair.
    api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200);
    assert_eq!(call(&api, &leased, json!({})).await["repairs"], json!([]));
}

async fn ob_05_a_call_knows_what_it_shares_with_the_last(api: Api) {
    let leased = api.running("a1").await;
    let first = call(&api, &leased, json!({})).await;
    assert_eq!(first["shared_prefix_tokens"], 0);
    assert_eq!(show(&api, &first, "").await["manifest"]["previous_call_id"], json!(null));
    api.think(&leased, "hm").await;
    let second = call(&api, &leased, json!({})).await;
    assert_eq!(second["shared_prefix_tokens"], first["total_tokens"]);
    assert_eq!(show(&api, &second, "").await["manifest"]["previous_call_id"], first["call_id"]);
    let other = call(&api, &leased, json!({ "model": "m-2" })).await;
    assert_eq!(other["shared_prefix_tokens"], 0, "another model has nothing of it");
    let config = cardwire_kernel::ContextConfig {
        placement: Some(cardwire_model::Placement::Cache),
        ..cardwire_kernel::ContextConfig::default()
    };
    let placed = call(&api.again(config), &leased, json!({})).await;
    let shown = show(&api, &placed, "?render=true").await;
    assert_eq!((&shown["manifest"]["placement"], &shown["hash_ok"]), (&json!("cache"), &json!(true)));
}

async fn wk_04_result_fields_are_said_in_the_system_prompt(api: Api) {
    let fields = json!({
        "content": { "fields": [{ "name": "answer", "description": "the answer" }] },
        "metadata": { "type": "task.result_fields" },
    });
    let fields =
        api.post("/projects/p1/l0/cards", fields).await.expect(201)["card_id"].as_str().unwrap().to_owned();
    let cards = [api.card("p1", "do it").await, fields.clone()];
    let leased = on(&api, "a1", &cards, json!({})).await;
    let made = call(&api, &leased, json!({})).await;
    let messages = said(&request(&made));
    assert_eq!(messages[0].1, "Help.\n\n# Required result fields\n\n- answer: the answer");
    assert_eq!(messages.iter().filter(|(_, text)| text.contains("the answer")).count(), 1);
    let omission = &made["omissions"][0];
    assert_eq!((&omission["reason"], &omission["card_id"]), (&json!("not_a_message"), &json!(fields)));
    let view = api.get(&format!("/projects/p1/turns/{}/view", leased.turn)).await.expect(200);
    assert_eq!(view["system_prompt"], messages[0].1, "{view:#}");
    assert!(!view["messages"].to_string().contains("the answer"), "{view:#}");
    // What the turn writes itself asks nothing of it.
    let own = json!({
        "content": { "fields": [{ "name": "b", "description": "c" }] }, "metadata": { "type": "task.result_fields" },
    });
    api.verb(&leased, "/cards", own).await.expect(200);
    let view = api.get(&format!("/projects/p1/turns/{}/view", leased.turn)).await.expect(200);
    assert_eq!(view["system_prompt"], messages[0].1, "{view:#}");
}

async fn cc_03_no_agent_sees_anothers_system_prompt(api: Api) {
    let profile = json!({ "worker_target": "w1", "system_prompt": "my secret ways" }).to_string();
    let profile = api.with(&api.admin, "PUT", "/projects/p1/profiles/Secretive", &profile).await.expect(201);
    let session = json!({ "session_id": "s" });
    let more = json!({ "profile_box_id": profile["profile_box_id"], "runtime_config": session });
    let first = on(&api, "a1", &[api.card("p1", "one").await], more).await;
    assert!(call(&api, &first, json!({})).await["request"].as_str().unwrap().contains("my secret ways"));
    api.finish(&first, "success").await;
    let second = on(&api, "a2", &[api.card("p1", "two").await], json!({ "runtime_config": session })).await;
    let made = call(&api, &second, json!({})).await;
    let sent = made["request"].as_str().unwrap();
    assert!(sent.contains("one") && !sent.contains("my secret ways"), "{sent}");
    assert!(!api.session("s").await.to_string().contains("my secret ways"));
    let given = json!({ "model": "m", "contexts": { "system_prompt__context": "x" } });
    api.verb(&second, "/calls", given).await.expect_error(400, "invalid_context_key");
}

async fn cc_08_without_sharing_there_are_prompt_memory_and_question(api: Api) {
    api.patch("s", json!({
        "messages": { "append": [{ "role": "human", "content": "hi" }, { "role": "ai", "content": "hello" }] },
        "todo": { "plan": { "op": "add", "items": ["write"] } },
        "set": { "compression__context": "before" },
    })).await.expect(200);
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let leased = on(&api, "a1", &[api.card("p1", "and now?").await], more).await;
    let made = call(&api, &leased, json!({ "enable_share_context": false })).await;
    let pair = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    let expected =
        [pair("system", "Help."), pair("user", "hi"), pair("assistant", "hello"), pair("user", "and now?")];
    assert_eq!(said(&request(&made)), expected);
    // PR-06: a worker of a map_reduce plan sees no conversation.
    let worker = call(&api, &leased, json!({ "process": "map_reduce_worker" })).await;
    let texts: Vec<_> = said(&request(&worker)).into_iter().map(|(_, text)| text).collect();
    assert!(
        !texts.iter().any(|text| text == "hi" || text == "before") && texts.contains(&"and now?".to_owned()),
        "{texts:?}"
    );
}

async fn st_07_the_memory_of_the_session_comes_before_the_question(api: Api) {
    api.say("s", &[("m1", "human", "hi"), ("m2", "ai", "hello")]).await;
    api.patch("s", json!({ "set": { "compression__context": "before" } })).await.expect(200);
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let leased = on(&api, "a1", &[api.card("p1", "and now?").await], more).await;
    let made = call(&api, &leased, json!({ "contexts": { "mine__context": "extra" } })).await;
    let texts: Vec<_> = said(&request(&made)).into_iter().map(|(_, text)| text).collect();
    let place = |text: &str| {
        texts.iter().position(|said| said.contains(text)).unwrap_or_else(|| panic!("{text}: {texts:?}"))
    };
    let places = ["Help.", "# Framework Context", "before", "extra", "hi", "hello", "and now?"].map(place);
    assert!(places.is_sorted(), "{texts:?}");
    assert_eq!(show(&api, &made, "?render=true").await["hash_ok"], true);
    // The memory went on since; the call did not.
    api.finish(&leased, "success").await;
    api.say("s", &[("m2", "ai", "changed")]).await;
    let shown = show(&api, &made, "?render=true").await;
    assert_eq!((&shown["request"], &shown["hash_ok"]), (&made["request"], &json!(true)));
}

async fn the_profile_says_what_the_request_does_not(api: Api) {
    let config = json!({
        "provider": "anthropic-messages", "model": "claude-x", "params": { "max_tokens": 7, "top_k": 3 },
        "context_window": 5_000, "reserve": 100,
    });
    let profile = json!({ "worker_target": "w1", "system_prompt": "x", "llm_config": config }).to_string();
    let profile = api.with(&api.admin, "PUT", "/projects/p1/profiles/Set", &profile).await.expect(201);
    let more = json!({ "profile_box_id": profile["profile_box_id"] });
    let leased = on(&api, "a1", &[api.card("p1", "do it").await], more).await;
    let made = api.verb(&leased, "/calls", json!({ "params": { "top_k": 4 } })).await.expect(201);
    assert_eq!((&made["provider"], &made["model"]), (&json!("anthropic-messages"), &json!("claude-x")));
    let sent = request(&made);
    assert_eq!((&sent["max_tokens"], &sent["top_k"]), (&json!(7), &json!(4)));
    let manifest = show(&api, &made, "").await["manifest"].clone();
    assert_eq!((&manifest["window"], &manifest["reserve"]), (&json!(5_000), &json!(100)));
    let made = call(
        &api,
        &leased,
        json!({ "provider": "openai-chat", "window": 9_000, "reserve": 0, "step_id": "step_mine" }),
    )
    .await;
    assert_eq!(
        (&made["provider"], &made["model"], &made["step_id"]),
        (&json!("openai-chat"), &json!("m-1"), &json!("step_mine"))
    );
    let manifest = show(&api, &made, "").await["manifest"].clone();
    assert_eq!((&manifest["window"], &manifest["reserve"]), (&json!(9_000), &json!(0)));
}

/// API-17, OB-04, RP-03: what was spent is known of the call, and the turn is known by it.
async fn api_17_a_step_that_is_written_again_keeps_its_call(api: Api) {
    let leased = api.running("a1").await;
    let made = call(&api, &leased, json!({})).await;
    let usage = json!({ "usage": { "input_tokens": 10, "output_tokens": 2 } });
    let step = json!({ "step_id": made["step_id"], "phase": "answered", "metadata": usage });
    api.verb(&leased, "/steps", step).await.expect(201);
    let steps = api.items("state/steps").await;
    assert_eq!(steps.len(), 1);
    assert_eq!(
        (&steps[0]["phase"], &steps[0]["call_id"]),
        (&json!("answered"), &made["call_id"]),
        "what is not said stays"
    );
    let cost = format!("/projects/p1/cost?agent_turn_id={}&by=layer", leased.turn);
    let cost = api.get(&cost).await.expect(200);
    let layers: Vec<_> = cost["items"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert!(layers.contains(&&json!("query")), "{cost}");
    let path =
        format!("/projects/p1/context:diff?left={}&right={}", leased.turn, made["call_id"].as_str().unwrap());
    let diff = api.get(&path).await.expect(200);
    assert_eq!((&diff["tokens_left"], &diff["delta"]), (&made["total_tokens"], &json!(0)), "{diff}");
}
