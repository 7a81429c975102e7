//! Turns that see their session and their output box as another turn did (RP-06): what forks are made with.

use super::{call, on, request, said, show};
use crate::support::{Api, Leased, NOBODY, Scribe, names, on_sqlite};
use cardwire_kernel::ContextConfig;
use serde_json::{Value, json};
use std::sync::Arc;

on_sqlite! {
    rp_06_a_fork_sees_the_session_as_the_call_it_makes_anew_did;
    rp_06_a_session_that_had_not_begun_is_empty;
    rp_06_a_deleted_session_is_empty_for_forks_too;
    rp_06_a_fork_leaves_the_session_as_it_is;
    rp_06_a_checkpoint_is_of_the_session_that_is_named;
    rp_06_a_fork_takes_what_the_original_wrote_for_its_own;
}

async fn asks(api: &Api, agent: &str, config: Value) -> Leased {
    let card = api.card("p1", "what now?").await;
    on(api, agent, &[card], json!({ "runtime_config": config })).await
}

/// What the record of a call says of the session.
async fn recorded(api: &Api, call: &Value) -> Value {
    show(api, call, "").await["manifest"]["session_checkpoint"].clone()
}

/// The settings of a fork of a turn of session `s`, from one of its calls.
async fn forked(api: &Api, original: &Leased, call: &Value) -> Value {
    json!({ "session_id": "s", "forked_from": original.turn, "session_checkpoint": recorded(api, call).await })
}

async fn ends(api: &Api, leased: &Leased) {
    api.verb(leased, ":finish", json!({ "status": "success", "deliverable": "an answer" })).await.expect(200);
}

/// Every layer that a session gives: messages, summary, todo.
async fn rp_06_a_fork_sees_the_session_as_the_call_it_makes_anew_did(api: Api) {
    let text: Vec<_> = (1..=12).map(|n| (format!("m{n}"), format!("text {n}"))).collect();
    let role = |n: usize| if n.is_multiple_of(2) { "human" } else { "ai" };
    let all: Vec<_> =
        text.iter().enumerate().map(|(n, (id, text))| (id.as_str(), role(n), text.as_str())).collect();
    api.say("s", &all).await;
    let compact = |summary: &str| {
        let body = json!({ "summary": summary, "min_keep_entries": 1 });
        async { api.post("/projects/p1/sessions/s:compact", body).await.expect(200) }
    };
    compact("the gist of then").await;
    api.patch("s", json!({ "todo": { "plan": { "op": "replace", "items": ["buy milk"] } } }))
        .await
        .expect(200);
    let original = asks(&api, "a1", json!({ "session_id": "s" })).await;
    let first = call(&api, &original, json!({})).await;
    assert_eq!(recorded(&api, &first).await, api.session("s").await["checkpoint_id"]);
    // The turn goes on, and so does the session.
    api.patch("s", json!({ "todo": { "plan": { "op": "replace", "items": ["sell milk"] } } }))
        .await
        .expect(200);
    let second = call(&api, &original, json!({})).await;
    ends(&api, &original).await;
    api.say("s", &[("n1", "human", "and then?"), ("n2", "ai", "this")]).await;
    compact("the gist of now").await;
    let session = api.session("s").await;
    for (agent, made) in [("a2", &first), ("a3", &second)] {
        let settings = forked(&api, &original, made).await;
        let fork = asks(&api, agent, settings.clone()).await;
        for _ in 0..2 {
            let again = call(&api, &fork, json!({})).await;
            assert_eq!(said(&request(&again)), said(&request(made)), "{agent}");
            assert_eq!(recorded(&api, &again).await, settings["session_checkpoint"]);
        }
        ends(&api, &fork).await;
    }
    let shown = said(&request(&first));
    let sees = |text: &str| shown.iter().any(|(_, said)| said.contains(text));
    assert!(sees("text 1") && sees("the gist of then") && sees("buy milk"), "{shown:?}");
    assert!(!said(&request(&second)).iter().any(|(_, said)| said.contains("buy milk")));
    assert_eq!(api.session("s").await, session, "a fork is not remembered");
    // Without it, a turn sees the session as it is.
    let now = call(&api, &asks(&api, "a4", json!({ "session_id": "s" })).await, json!({})).await;
    let now = said(&request(&now));
    assert!(now.iter().any(|(_, said)| said.contains("the gist of now")), "{now:?}");
    assert!(now.iter().any(|(_, said)| said == "and then?"), "{now:?}");
    // Turns without a session have nothing to tell.
    let alone = call(&api, &asks(&api, "a5", json!({})).await, json!({})).await;
    assert_eq!(recorded(&api, &alone).await, Value::Null);
}

async fn rp_06_a_session_that_had_not_begun_is_empty(api: Api) {
    let original = asks(&api, "a1", json!({ "session_id": "s" })).await;
    let made = call(&api, &original, json!({})).await;
    assert_eq!(recorded(&api, &made).await, "none");
    ends(&api, &original).await;
    let fork = asks(&api, "a2", forked(&api, &original, &made).await).await;
    let again = call(&api, &fork, json!({})).await;
    assert_eq!(said(&request(&again)), said(&request(&made)));
    assert_eq!(recorded(&api, &again).await, "none");
}

async fn rp_06_a_deleted_session_is_empty_for_forks_too(api: Api) {
    api.say("s", &[("m1", "human", "a secret")]).await;
    let original = asks(&api, "a1", json!({ "session_id": "s" })).await;
    let made = call(&api, &original, json!({})).await;
    let settings = forked(&api, &original, &made).await;
    let fork = asks(&api, "a2", settings).await;
    let sees = async || {
        let made = call(&api, &fork, json!({})).await;
        (made["request"].as_str().unwrap().contains("a secret"), recorded(&api, &made).await)
    };
    assert!(sees().await.0);
    api.delete("/projects/p1/sessions/s").await.expect(204);
    assert_eq!(sees().await, (false, json!("none")));
    // The next session of the name is another one.
    api.say("s", &[("m1", "human", "something else")]).await;
    assert_eq!(sees().await, (false, json!("none")));
}

async fn rp_06_a_fork_leaves_the_session_as_it_is(api: Api) {
    // A summariser that is asked for more than it has to say would panic.
    let scribe = Arc::new(Scribe::new(&[]));
    let server = api.again(ContextConfig { summariser: Some(scribe as _), ..ContextConfig::default() });
    let long: Vec<_> = (1..=12).map(|n| (format!("m{n}"), format!("text {n} ").repeat(20))).collect();
    let long: Vec<_> = long.iter().map(|(id, text)| (id.as_str(), "ai", text.as_str())).collect();
    api.say("s", &long).await;
    let before = api.session("s").await;
    api.settle(json!({ "compact_threshold": 100 })).await;
    let checkpoint = before["checkpoint_id"].clone();
    let fork = asks(&server, "a1", json!({ "session_id": "s", "session_checkpoint": checkpoint })).await;
    call(&server, &fork, json!({})).await;
    // Where the caller would have to do it, it is not asked to.
    let made = call(&api, &fork, json!({})).await;
    assert!(made.get("compaction_due").is_none(), "{made}");
    let asked = json!({ "model": "m-1", "purpose": "summary" });
    api.verb(&fork, "/calls", asked).await.expect_error(409, "conflict");
    ends(&api, &fork).await;
    assert_eq!(api.session("s").await, before);
}

async fn rp_06_a_checkpoint_is_of_the_session_that_is_named(api: Api) {
    api.say("s", &[("m1", "human", "mine")]).await;
    api.say("other", &[("m1", "human", "theirs")]).await;
    let other = api.session("other").await["checkpoint_id"].clone();
    let message = api.session("s").await["messages"][0]["card_id"].clone();
    for (agent, card) in [("a1", other), ("a2", message), ("a3", json!(NOBODY))] {
        let fork = asks(&api, agent, json!({ "session_id": "s", "session_checkpoint": card })).await;
        let refused = api.verb(&fork, "/calls", json!({ "model": "m-1" })).await;
        refused.expect_error(404, "not_found");
    }
    for config in
        [json!({ "session_checkpoint": "none" }), json!({ "session_id": "s", "session_checkpoint": "x" })]
    {
        let order = api.order("a4", json!({ "runtime_config": config })).await;
        names(&api.send_turn(&order).await, "bad_request", "runtime_config/session_checkpoint");
    }
}

/// Older history, what is given, what the turn wrote: in the fork as in the original.
async fn rp_06_a_fork_takes_what_the_original_wrote_for_its_own(api: Api) {
    let context = api.make_box("p1", &[api.card("p1", "what now?").await]).await;
    let old = api.card("p1", "long ago").await;
    let order = json!({ "context_box_id": context, "output_box_id": api.make_box("p1", &[old]).await });
    api.dispatch_with("a1", order).await;
    let original = api.claim_with(json!({ "start": true })).await.remove(0);
    call(&api, &original, json!({})).await;
    api.think(&original, "hm").await;
    let second = call(&api, &original, json!({})).await;
    assert_eq!(api.turn(&original.turn).await["watermark"], 1);
    ends(&api, &original).await;
    let ended = api.turn(&original.turn).await;
    assert_eq!((&ended["watermark"], &ended["output_len"]), (&json!(1), &json!(3)));
    let fork = async |agent: &str, watermark: u32| {
        let path = format!("/projects/p1/l0/boxes/{}:fork", original.output);
        let prefix = api.post(&path, json!({ "upto": 2 })).await.expect(201)["box_id"].clone();
        let config = json!({ "forked_from": original.turn, "forked_watermark": watermark });
        let order = json!({ "context_box_id": context, "output_box_id": prefix, "runtime_config": config });
        api.dispatch_with(agent, order).await;
        api.claim_with(json!({ "start": true })).await.remove(0)
    };
    let same = fork("a2", 1).await;
    let made = call(&api, &same, json!({})).await;
    assert_eq!(made["request"], second["request"]);
    assert_eq!(made["request_sha256"], second["request_sha256"]);
    let without = call(&api, &same, json!({ "without": ["checkpoint"] })).await;
    let texts: Vec<_> = said(&request(&without)).into_iter().map(|(_, text)| text).collect();
    assert!(texts.contains(&"hm".to_owned()) && !texts.contains(&"long ago".to_owned()), "{texts:?}");
    let view = api.get(&format!("/projects/p1/turns/{}/view", same.turn)).await.expect(200);
    let then = api.get(&format!("/projects/p1/turns/{}/view", original.turn)).await.expect(200);
    assert_eq!(view["card_ids"].as_array().unwrap()[..], then["card_ids"].as_array().unwrap()[..3]);
    // No more than there is.
    let all = call(&api, &fork("a3", 9).await, json!({})).await;
    let texts: Vec<_> = said(&request(&all)).into_iter().map(|(_, text)| text).collect();
    assert!(texts.ends_with(&["hm".to_owned(), "what now?".to_owned()]), "{texts:?}");
}
