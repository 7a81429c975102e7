//! What a turn sees (CB-15, CB-17, WK-02, WK-03, WK-04).

use crate::support::{Api, Leased, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    a_turn_sees_its_context_and_its_output_and_nothing_else;
    old_output_comes_before_the_new_context;
    a_finished_turn_keeps_its_view;
    a_step_can_be_looked_at_again;
    roles_come_from_metadata_and_result_fields_are_no_message;
    deleted_cards_are_skipped;
}

async fn view(api: &Api, leased: &Leased, query: &str) -> Value {
    let path = leased.path(&format!("/view{query}"));
    api.with(&leased.token, "GET", &path, "").await.expect(200)
}

fn ids(view: &Value) -> Vec<String> {
    serde_json::from_value(view["card_ids"].clone()).unwrap()
}

/// CB-15, WK-02
async fn a_turn_sees_its_context_and_its_output_and_nothing_else(api: Api) {
    let secret = api.context("nobody passed this on").await;
    let leased = api.running("a1").await;
    let turn = api.turn(&leased.turn).await;
    let thought = api.think(&leased, "hm").await;
    let seen = view(&api, &leased, "").await;
    let mut expected = api.shown("p1", turn["context_box_id"].as_str().unwrap()).await;
    expected.push(thought);
    assert_eq!(ids(&seen), expected);
    assert!(!seen.to_string().contains("nobody passed this on"), "{secret}");
    assert_eq!((&seen["agent_turn_id"], &seen["turn_epoch"]), (&json!(leased.turn), &json!(1)));
    let message = json!({
        "card_id": expected[1], "type": "agent.thought", "role": "assistant", "content": "hm",
        "origin": "agent",
    });
    assert_eq!(seen["messages"][1], message);
    let read = api.get(&format!("/projects/p1/turns/{}/view", leased.turn)).await.expect(200);
    assert_eq!(read, seen, "the same for readers");
}

/// WK-03: `output[0..w] ++ context ++ output[w..]`.
async fn old_output_comes_before_the_new_context(api: Api) {
    let old = api.cards("p1", 2).await;
    let shared = api.card("p1", "in both").await;
    let output = api.make_box("p1", &[old.clone(), vec![shared.clone()]].concat()).await;
    let instruction = api.card("p1", "now this").await;
    let context = api.make_box("p1", &[shared.clone(), instruction.clone()]).await;
    let turn = api.dispatch_with("a1", json!({ "context_box_id": context, "output_box_id": output })).await;
    let before = api.get(&format!("/projects/p1/turns/{}/view", turn.id)).await.expect(200);
    let leased = &api.claim_with(json!({ "start": true })).await[0];
    let thought = api.think(leased, "mine").await;
    let expected = [old, vec![shared, instruction, thought]].concat();
    assert_eq!(ids(&before), expected[..4]);
    assert_eq!(ids(&view(&api, leased, "").await), expected);
    api.finish(leased, "success").await;
}

/// CB-17
async fn a_finished_turn_keeps_its_view(api: Api) {
    let output = api.make_box("p1", &[]).await;
    api.dispatch_with("a1", json!({ "output_box_id": output })).await;
    let leased = &api.claim_with(json!({ "start": true })).await[0];
    api.think(leased, "one").await;
    api.finish(leased, "success").await;
    let before = view(&api, leased, "").await;
    assert_eq!(ids(&before).len(), 3);
    let later = api.card("p1", "later").await;
    api.post(&format!("/projects/p1/l0/boxes/{output}/cards"), json!({ "card_ids": [later] }))
        .await
        .expect(200);
    api.dispatch_with("a1", json!({ "output_box_id": output })).await;
    let again = &api.claim_with(json!({ "start": true })).await[0];
    api.think(again, "two").await;
    assert_eq!(view(&api, leased, "").await, before);
    assert_eq!(ids(&view(&api, again, "").await).len(), 5);
}

/// CB-17: what the model saw at step k.
async fn a_step_can_be_looked_at_again(api: Api) {
    let leased = api.running("a1").await;
    let mut views = vec![];
    for name in ["step_1", "step_2"] {
        api.verb(&leased, "/steps", json!({ "step_id": name, "phase": "think" })).await.expect(201);
        views.push(view(&api, &leased, "").await);
        api.think(&leased, name).await;
    }
    api.finish(&leased, "success").await;
    for (place, name) in ["step_1", "step_2"].into_iter().enumerate() {
        assert_eq!(view(&api, &leased, &format!("?step_id={name}")).await, views[place], "{name}");
    }
    let other = api.running("a2").await;
    let path = other.path("/view?step_id=step_1");
    api.with(&other.token, "GET", &path, "").await.expect_error(404, "not_found");
}

/// WK-04, CB-03
async fn roles_come_from_metadata_and_result_fields_are_no_message(api: Api) {
    let put = async |body: Value| {
        api.post("/projects/p1/l0/cards", body).await.expect(201)["card_id"].as_str().unwrap().to_owned()
    };
    let cards = [
        put(json!({ "content": "x", "metadata": { "type": "task.instruction", "author_id": "agent_x", "role": "user" } })).await,
        put(json!({ "content": { "parent_agent_id": "boss" }, "metadata": { "type": "meta.parent_pointer" } })).await,
        put(json!({
            "content": { "fields": [{ "name": "answer", "description": "the answer" }] },
            "metadata": { "type": "task.result_fields" },
        }))
        .await,
    ];
    let context = api.make_box("p1", &cards).await;
    api.dispatch_with("a1", json!({ "context_box_id": context })).await;
    let leased = &api.claim_with(json!({ "start": true })).await[0];
    let seen = view(&api, leased, "").await;
    assert_eq!(ids(&seen), cards);
    let roles: Vec<_> = seen["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "system"]);
    assert_eq!(seen["messages"][0]["author_id"], "agent_x");
    assert_eq!(seen["result_fields"]["fields"][0]["name"], "answer");
    let call = json!({ "id": "c1", "function": { "name": "look", "arguments": "{}" } });
    let body = json!({ "content": "", "metadata": { "type": "agent.thought" }, "tool_calls": [call] });
    api.verb(leased, "/cards", body).await.expect(200);
    api.report(leased, "c1", json!({ "result": 1 })).await.expect(200);
    let messages = view(&api, leased, "").await["messages"].clone();
    assert_eq!(messages[2]["tool_calls"], json!([call]));
    assert_eq!((&messages[3]["role"], &messages[3]["tool_call_id"]), (&json!("tool"), &json!("c1")));
    // SEC-10: whatever its author is called, a card says who brought it, as the card itself does.
    for message in messages.as_array().unwrap() {
        let path = format!("/projects/p1/cards/{}", message["card_id"].as_str().unwrap());
        assert_eq!(message["origin"], api.get(&path).await.expect(200)["origin"], "{message}");
    }
    assert_eq!((&messages[0]["origin"], &messages[2]["origin"]), (&json!("operator"), &json!("agent")));
}

/// WK-02, CB-10
async fn deleted_cards_are_skipped(api: Api) {
    let leased = api.running("a1").await;
    let (first, second) = (api.think(&leased, "one").await, api.think(&leased, "two").await);
    api.delete(&format!("/projects/p1/l0/cards/{first}")).await.expect(204);
    let seen = ids(&view(&api, &leased, "").await);
    assert!(!seen.contains(&first) && seen.contains(&second));
}
