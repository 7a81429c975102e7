//! What changed between calls, and why a card is in one or not (RP-03, RP-04).

use super::{call, on, show};
use crate::support::{Api, NOBODY, names, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    rp_03_two_calls_differ_by_layer_and_card;
    rp_03_turns_are_compared_by_their_last_call;
    rp_04_why_a_card_is_there;
    rp_04_why_a_card_is_not_there;
    rp_04_a_card_that_is_not_in_the_project_is_not_found;
    bad_questions_are_refused;
}

async fn why(api: &Api, call: &Value, card: &str) -> Value {
    let call = call["call_id"].as_str().unwrap();
    api.get(&format!("/projects/p1/context:why?call={call}&card={card}")).await.expect(200)
}

async fn diff(api: &Api, left: &str, right: &str) -> Value {
    api.get(&format!("/projects/p1/context:diff?left={left}&right={right}")).await.expect(200)
}

fn layer<'a>(diff: &'a Value, name: &str) -> &'a Value {
    let layers = diff["layers"].as_array().unwrap();
    layers.iter().find(|layer| layer["layer"] == name).unwrap_or_else(|| panic!("{name}: {diff}"))
}

async fn rp_03_two_calls_differ_by_layer_and_card(api: Api) {
    let leased = api.running("a1").await;
    let first = call(&api, &leased, json!({ "contexts": { "todo__context": "before" } })).await;
    let thought = api.think(&leased, "hm").await;
    let second = call(&api, &leased, json!({ "contexts": { "todo__context": "after it" } })).await;
    let ids = [&first, &second].map(|call| call["call_id"].as_str().unwrap());
    let found = diff(&api, ids[0], ids[1]).await;
    assert_eq!((&found["left"], &found["right"]), (&json!(ids[0]), &json!(ids[1])));
    let turn = layer(&found, "turn");
    assert_eq!(
        (&turn["added"][0]["card_id"], &turn["removed"], &turn["tokens_left"]),
        (&json!(thought), &json!([]), &json!(0))
    );
    let todo = layer(&found, "todo");
    assert_eq!((todo["added"].as_array().unwrap().len(), todo["removed"].as_array().unwrap().len()), (1, 1));
    let query = layer(&found, "query");
    assert_eq!((&query["kept"], &query["added"], &query["delta"]), (&json!(1), &json!([]), &json!(0)));
    let total = |call: &Value| call["total_tokens"].as_i64().unwrap();
    assert_eq!(found["delta"], json!(total(&second) - total(&first)));
    assert_eq!(
        (&found["tokens_left"], &found["tokens_right"]),
        (&first["total_tokens"], &second["total_tokens"])
    );
    let deltas: i64 =
        found["layers"].as_array().unwrap().iter().map(|layer| layer["delta"].as_i64().unwrap()).sum();
    assert_eq!(json!(deltas), found["delta"]);
    let same = diff(&api, ids[0], ids[0]).await;
    assert!(
        same["layers"]
            .as_array()
            .unwrap()
            .iter()
            .all(|layer| layer["added"] == json!([]) && layer["removed"] == json!([]))
    );
}

async fn rp_03_turns_are_compared_by_their_last_call(api: Api) {
    let shared = api.card("p1", "shared").await;
    let sender = on(&api, "a1", std::slice::from_ref(&shared), json!({})).await;
    call(&api, &sender, json!({})).await;
    let last = call(&api, &sender, json!({ "contexts": { "mine__context": "x" } })).await;
    let own = api.card("p1", "do it").await;
    let receiver = on(&api, "a2", &[shared.clone(), own.clone()], json!({})).await;
    let found = diff(&api, &sender.turn, &receiver.turn).await;
    assert_eq!(found["tokens_left"], last["total_tokens"], "the last call");
    let moved = json!([{ "card_id": shared, "from": "query", "to": "checkpoint" }]);
    assert_eq!(found["moved"], moved, "what was asked there is background here");
    assert_eq!(layer(&found, "query")["added"][0]["card_id"], json!(own));
    // A call with a turn, either way round.
    let id = last["call_id"].as_str().unwrap();
    assert_eq!(diff(&api, id, &receiver.turn).await["layers"], found["layers"]);
    diff(&api, &receiver.turn, id).await;
}

async fn rp_04_why_a_card_is_there(api: Api) {
    let cards = [api.card("p1", "background").await, api.card("p1", "do it").await];
    let more = json!({ "runtime_config": { "session_id": "s" } });
    api.say("s", &[("m1", "human", "hi")]).await;
    let said = api.session("s").await["messages"][0]["card_id"].as_str().unwrap().to_owned();
    let leased = on(&api, "a1", &cards, more).await;
    let thought = api.think(&leased, "hm").await;
    let made = call(&api, &leased, json!({})).await;
    let shown = show(&api, &made, "").await;
    let block = |layer: &str| {
        let entries = shown["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["layer"] == layer).unwrap();
        entry["card_id"].as_str().unwrap().to_owned()
    };
    for (card, layer, reason) in [
        (&cards[1], "query", "instruction"),
        (&cards[0], "checkpoint", "context"),
        (&thought, "turn", "own"),
        (&said, "checkpoint", "memory"),
        (&block("system_prompt"), "system_prompt", "profile"),
        (&block("framework"), "framework", "collected"),
    ] {
        let answer = why(&api, &made, card).await;
        assert_eq!((&answer["call_id"], &answer["card_id"]), (&made["call_id"], &json!(card)));
        assert_eq!(
            (&answer["included"], &answer["layer"], &answer["reason"]),
            (&json!(true), &json!(layer), &json!(reason))
        );
        assert!(
            answer["tokens"].as_u64().unwrap() > 0 && !answer["rule"].as_str().unwrap().is_empty(),
            "{answer}"
        );
    }
}

async fn rp_04_why_a_card_is_not_there(api: Api) {
    let put = async |body: Value| {
        api.post("/projects/p1/l0/cards", body).await.expect(201)["card_id"].as_str().unwrap().to_owned()
    };
    let expiring =
        put(json!({ "content": "soon gone", "metadata": { "type": "x" }, "ttl_seconds": 60 })).await;
    let fields =
        put(json!({ "content": { "fields": [] }, "metadata": { "type": "task.result_fields" } })).await;
    let history = api.card("p1", &"old words ".repeat(50)).await;
    let output = api.make_box("p1", std::slice::from_ref(&history)).await;
    let cards = [expiring.clone(), fields.clone(), api.card("p1", "do it").await];
    let leased = on(&api, "a1", &cards, json!({ "output_box_id": output })).await;
    api.clock.advance(61);
    let whole = call(&api, &leased, json!({})).await;
    let less = whole["total_tokens"].as_u64().unwrap() - 1;
    let made = call(&api, &leased, json!({ "window": less, "reserve": 0 })).await;
    let later = api.think(&leased, "later").await;
    let elsewhere = api.card("p1", "elsewhere").await;
    for (card, layer, reason) in [
        (history.as_str(), json!("checkpoint"), "budget"),
        (&expiring, json!("checkpoint"), "expired"),
        (&fields, json!("checkpoint"), "not_a_message"),
        (&later, json!(null), "not_visible"),
        (&elsewhere, json!(null), "not_granted"),
    ] {
        let answer = why(&api, &made, card).await;
        assert_eq!((&answer["included"], &answer["reason"]), (&json!(false), &json!(reason)), "{answer}");
        assert_eq!(answer["layer"], layer, "{answer}");
        assert!(!answer["rule"].as_str().unwrap().is_empty());
        assert!(answer["tokens"].as_u64().unwrap() > 0, "what it would have cost: {answer}");
    }
    assert_eq!(why(&api, &whole, &history).await["included"], true);
    // Compacted away.
    let said: Vec<_> = (1..=8).map(|n| (format!("m{n}"), "ai", format!("text {n}"))).collect();
    let said: Vec<_> = said.iter().map(|(id, role, text)| (id.as_str(), *role, text.as_str())).collect();
    api.say("s", &said).await;
    let covered = api.session("s").await["messages"][0]["card_id"].as_str().unwrap().to_owned();
    api.post("/projects/p1/sessions/s:compact", json!({ "summary": "x" })).await.expect(200);
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let second = on(&api, "a2", &[api.card("p1", "do it").await], more).await;
    let made = call(&api, &second, json!({})).await;
    assert_eq!(why(&api, &made, &covered).await["reason"], "compacted");
    // A second summary does not hide what the first one stands for, nor does what becomes of them after the call.
    api.clock.advance(1);
    api.say("s", &[("n1", "ai", "more"), ("n2", "ai", "and more")]).await;
    let body = json!({ "summary": "y", "min_keep_entries": 1 });
    api.post("/projects/p1/sessions/s:compact", body).await.expect(200);
    assert_eq!(why(&api, &made, &covered).await["reason"], "compacted");
    let cleared = json!({ "set": { "compression__context": null } });
    api.patch("s", cleared).await.expect(200);
    assert_eq!(why(&api, &made, &covered).await["reason"], "compacted");
    api.clock.advance(1);
    let later = call(&api, &second, json!({})).await;
    assert_eq!(why(&api, &later, &covered).await["reason"], "not_granted", "no summary says it any more");
}

/// CB-08: one of another project is like one that is nowhere.
async fn rp_04_a_card_that_is_not_in_the_project_is_not_found(api: Api) {
    let theirs = api.card("p2", "theirs").await;
    let leased = api.running("a1").await;
    let made = call(&api, &leased, json!({})).await;
    let id = made["call_id"].as_str().unwrap();
    for card in [NOBODY, &theirs] {
        let reply = api.get(&format!("/projects/p1/context:why?call={id}&card={card}")).await;
        reply.expect_error(404, "not_found");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("card") && message.contains(card), "{message}");
    }
    let unseen = api.card("p1", "nobody was told").await;
    assert_eq!(why(&api, &made, &unseen).await["reason"], "not_granted");
}

async fn bad_questions_are_refused(api: Api) {
    let leased = api.running("a1").await;
    let made = call(&api, &leased, json!({})).await;
    let id = made["call_id"].as_str().unwrap();
    for (query, field) in [
        ("diff".to_owned(), "left"),
        (format!("diff?left={id}"), "right"),
        (format!("diff?left=x&right={id}"), "left"),
        (format!("diff?left={id}&right=turn_x"), "right"),
        (format!("diff?left={id}&right=batch_{NOBODY}"), "right"),
        (format!("diff?left={id}&right={id}&deep=1"), "deep"),
        ("why".to_owned(), "call"),
        (format!("why?call={id}"), "card"),
        (format!("why?call=x&card={id}"), "call"),
        (format!("why?call={id}&card=x"), "card"),
    ] {
        names(&api.get(&format!("/projects/p1/context:{query}")).await, "bad_request", field);
    }
    for query in [
        format!("diff?left={id}&right={NOBODY}"),
        format!("diff?left=turn_{NOBODY}&right={id}"),
        format!("why?call={NOBODY}&card={id}"),
    ] {
        api.get(&format!("/projects/p1/context:{query}")).await.expect_error(404, "not_found");
    }
    for verb in ["nope", "collect", "compose"] {
        api.get(&format!("/projects/p1/context:{verb}")).await.expect_error(404, "not_found");
    }
}
