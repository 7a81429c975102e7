//! Requests that must fit (OB-02), and compaction before they would not (CP-01).

use super::{call, on, request, said, show};
use crate::support::{Api, Scribe, on_sqlite};
use cardwire_kernel::ContextConfig;
use serde_json::{Value, json};
use std::sync::Arc;

on_sqlite! {
    ob_02_what_does_not_fit_is_left_out_and_listed;
    ob_02_what_is_not_sent_is_not_counted;
    ob_02_what_must_be_sent_and_does_not_fit_is_an_error;
    cp_01_a_long_conversation_is_compacted_first;
    cp_01_a_call_tells_its_worker_that_the_session_is_to_be_compacted;
    cp_01_the_list_of_tools_counts;
    nf_03_a_stale_holder_compacts_nothing;
    kn_04_a_call_tells_which_knowledge_it_shows;
    kn_04_the_experience_of_a_session_knows_what_its_calls_were_shown;
}

async fn ob_02_what_does_not_fit_is_left_out_and_listed(api: Api) {
    let old: Vec<String> =
        vec![api.card("p1", &"old words ".repeat(50)).await, api.card("p1", "recent").await];
    let output = api.make_box("p1", &old).await;
    let leased = on(&api, "a1", &[api.card("p1", "do it").await], json!({ "output_box_id": output })).await;
    let whole = call(&api, &leased, json!({})).await;
    let total = whole["total_tokens"].as_u64().unwrap();
    assert_eq!(whole["omissions"], json!([]));
    let fits = call(&api, &leased, json!({ "window": total + 10, "reserve": 10 })).await;
    assert_eq!(fits["request"], whole["request"], "just so");
    let less = call(&api, &leased, json!({ "window": total + 9, "reserve": 10 })).await;
    let omission = &less["omissions"][0];
    assert_eq!(
        (&omission["layer"], &omission["reason"], &omission["card_id"]),
        (&json!("checkpoint"), &json!("budget"), &json!(old[0]))
    );
    assert_eq!(omission["tokens"].as_u64().unwrap() + less["total_tokens"].as_u64().unwrap(), total);
    let texts: Vec<_> = said(&request(&less)).into_iter().map(|(_, text)| text).collect();
    assert!(texts.contains(&"recent".to_owned()) && texts.contains(&"do it".to_owned()), "{texts:?}");
    let shown = show(&api, &less, "?render=true").await;
    assert_eq!((&shown["hash_ok"], &shown["manifest"]["omissions"]), (&json!(true), &less["omissions"]));
}

async fn ob_02_what_is_not_sent_is_not_counted(api: Api) {
    let leased = on(&api, "a1", &[api.card("p1", "do it").await], json!({})).await;
    let before = call(&api, &leased, json!({})).await;
    let blank = json!({ "content": " ", "metadata": { "type": "agent.thought" } });
    api.verb(&leased, "/cards", blank).await.expect(200);
    let after = call(&api, &leased, json!({})).await;
    assert_eq!(after["omissions"][0]["reason"], "empty");
    assert_eq!(after["request"], before["request"]);
    assert_eq!(after["total_tokens"], before["total_tokens"]);
}

async fn ob_02_what_must_be_sent_and_does_not_fit_is_an_error(api: Api) {
    let leased = api.running("a1").await;
    let before = api.everything().await;
    for (window, reserve) in [(1, 0), (0, 0), (1_000, 1_000), (10, 4_000_000_000_u32)] {
        let body = json!({ "model": "m-1", "window": window, "reserve": reserve });
        let reply = api.verb(&leased, "/calls", body).await;
        reply.expect_error(413, "context_overflow");
        assert_eq!(reply.json()["error"]["detail"]["field"], "window");
    }
    assert_eq!(api.everything().await, before, "nothing was written");
}

async fn talk(api: &Api) {
    let said: Vec<_> = (1..=12).map(|n| (format!("m{n}"), format!("text {n}"))).collect();
    let said: Vec<_> = said.iter().map(|(id, text)| (id.as_str(), "ai", text.as_str())).collect();
    api.say("s", &said).await;
    api.settle(json!({ "compact_threshold": 60, "min_keep_entries": 2 })).await;
}

async fn cp_01_a_long_conversation_is_compacted_first(api: Api) {
    talk(&api).await;
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let leased = on(&api, "a1", &[api.card("p1", "and now?").await], more).await;
    let scribe = Arc::new(Scribe::new(&[Ok("the gist")]));
    let server =
        api.again(ContextConfig { summariser: Some(Arc::clone(&scribe) as _), ..ContextConfig::default() });
    let made = call(&server, &leased, json!({})).await;
    let texts: Vec<_> = said(&request(&made)).into_iter().map(|(_, text)| text).collect();
    assert!(texts.contains(&"the gist".to_owned()) && texts.contains(&"text 12".to_owned()), "{texts:?}");
    assert!(!texts.contains(&"text 1".to_owned()), "{texts:?}");
    let session = api.session("s").await;
    assert_eq!(
        (&session["compression__context"], session["messages"].as_array().unwrap().len()),
        (&json!("the gist"), 2)
    );
    assert_eq!(show(&api, &made, "?render=true").await["hash_ok"], true);
    assert_eq!(scribe.asked.lock().unwrap().len(), 1, "once per call");
}

/// OB-02: where nobody on the server can summarise, and only if the project says when.
async fn cp_01_a_call_tells_its_worker_that_the_session_is_to_be_compacted(api: Api) {
    let said: Vec<_> = (1..=12).map(|n| (format!("m{n}"), format!("text {n}"))).collect();
    let said: Vec<_> = said.iter().map(|(id, text)| (id.as_str(), "ai", text.as_str())).collect();
    api.say("s", &said).await;
    let card = api.card("p1", "and now?").await;
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let leased = on(&api, "a1", std::slice::from_ref(&card), more).await;
    let alone = on(&api, "a2", &[card], json!({})).await;
    let whole = call(&api, &leased, json!({})).await;
    let total = whole["total_tokens"].as_u64().unwrap();
    let narrow = json!({ "window": total - 1, "reserve": 0 });
    let cut = call(&api, &leased, narrow.clone()).await;
    assert_eq!(cut["omissions"][0]["reason"], "budget");
    assert!(whole.get("compaction_due").is_none() && cut.get("compaction_due").is_none(), "nobody asked");

    api.settle(json!({ "compact_threshold": total, "min_keep_entries": 2 })).await;
    assert!(call(&api, &leased, json!({})).await.get("compaction_due").is_none(), "just so");
    assert_eq!(call(&api, &leased, narrow).await["compaction_due"], true, "some of it found no room");
    api.settle(json!({ "compact_threshold": total - 1, "min_keep_entries": 2 })).await;
    let due = call(&api, &leased, json!({})).await;
    assert_eq!(due["compaction_due"], true);
    assert_eq!(due["request"], whole["request"], "it can be sent all the same");
    let worker = call(&api, &leased, json!({ "process": "map_reduce_worker" })).await;
    assert!(worker.get("compaction_due").is_none(), "W-16");
    assert!(call(&api, &alone, json!({})).await.get("compaction_due").is_none(), "there is no session");
}

/// What the manifest calls the total decides, whoever summarises.
async fn cp_01_the_list_of_tools_counts(api: Api) {
    talk(&api).await;
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let leased = on(&api, "a1", &[api.card("p1", "and now?").await], more).await;
    let tools =
        json!({ "tools": [{ "type": "function", "function": { "name": "look", "description": "Looks." } }] });
    let total = |call: &Value| call["total_tokens"].as_u64().unwrap();
    let none = json!({ "tools": [] });
    let (bare, with) = (call(&api, &leased, none.clone()).await, call(&api, &leased, tools.clone()).await);
    assert!(total(&bare) < total(&with) - 1, "{bare} {with}");
    api.settle(json!({ "compact_threshold": total(&with), "min_keep_entries": 2 })).await;
    assert!(call(&api, &leased, tools.clone()).await.get("compaction_due").is_none(), "just so");
    api.settle(json!({ "compact_threshold": total(&with) - 1, "min_keep_entries": 2 })).await;
    assert!(call(&api, &leased, none.clone()).await.get("compaction_due").is_none());
    assert_eq!(call(&api, &leased, tools.clone()).await["compaction_due"], true);
    let scribe = Arc::new(Scribe::new(&[Ok("the gist")]));
    let server =
        api.again(ContextConfig { summariser: Some(Arc::clone(&scribe) as _), ..ContextConfig::default() });
    call(&server, &leased, none).await;
    assert!(scribe.asked.lock().unwrap().is_empty());
    call(&server, &leased, tools).await;
    assert_eq!(scribe.asked.lock().unwrap().len(), 1);
}

async fn nf_03_a_stale_holder_compacts_nothing(api: Api) {
    talk(&api).await;
    let more = json!({ "runtime_config": { "session_id": "s" } });
    let leased = on(&api, "a1", &[api.card("p1", "and now?").await], more).await;
    let scribe = Arc::new(Scribe::new(&[]));
    let server = api.again(ContextConfig { summariser: Some(scribe as _), ..ContextConfig::default() });
    let before = (api.session("s").await, api.everything().await);
    let stale = json!({ "model": "m-1", "turn_epoch": leased.epoch + 1 });
    server.verb(&leased, "/calls", stale.clone()).await.expect_error(409, "stale_turn");
    server
        .with(&api.admin, "POST", &leased.path("/calls"), &stale.to_string())
        .await
        .expect_error(409, "stale_turn");
    assert_eq!((api.session("s").await, api.everything().await), before);
}

async fn kn_04_the_experience_of_a_session_knows_what_its_calls_were_shown(api: Api) {
    api.document("boats.md", "A red boat sails.").await;
    let shown = async |session: &str| {
        let path = format!("/projects/p1/sessions/{session}/experience");
        api.get(&path).await.expect(200)["knowledge_refs"].clone()
    };
    let asked = async |agent: &str, settings: serde_json::Value| {
        let card = api.card("p1", "where is the red boat?").await;
        let leased = on(&api, agent, &[card], json!({ "runtime_config": settings })).await;
        call(&api, &leased, json!({})).await;
        leased
    };
    let leased = asked("a1", json!({ "session_id": "s" })).await;
    let found = api.get("/projects/p1/knowledge:search?query=boat").await.expect(200);
    let boats = json!({ "chunk_id": found["items"][0]["card_id"], "source_id": "boats.md" });
    assert_eq!(shown("s").await, json!([boats]));
    // Each chunk once, and nothing is written when nothing is new.
    let before = api.session("s").await;
    call(&api, &leased, json!({})).await;
    assert_eq!(api.session("s").await, before);
    api.document("rafts.md", "A red raft, no boat.").await;
    call(&api, &leased, json!({})).await;
    assert_eq!(shown("s").await.as_array().unwrap().len(), 2);
    // What is left out was not shown.
    let without = call(&api, &leased, json!({ "without": ["knowledge"] })).await;
    assert_eq!(without["knowledge_refs"], json!([]));
    // A session that is deleted does not come back because a turn goes on.
    api.document("ships.md", "A red ship beside the boat.").await;
    api.delete("/projects/p1/sessions/s").await.expect(204);
    call(&api, &leased, json!({})).await;
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    // A fork leaves nothing in the session it reads.
    asked("a2", json!({ "session_id": "other", "forked_from": leased.turn })).await;
    api.get("/projects/p1/sessions/other/experience").await.expect_error(404, "not_found");
}

async fn kn_04_a_call_tells_which_knowledge_it_shows(api: Api) {
    api.document("boats.md", "A red boat sails.").await;
    let leased = on(&api, "a1", &[api.card("p1", "where is the red boat?").await], json!({})).await;
    let made = call(&api, &leased, json!({})).await;
    let found = api.get("/projects/p1/knowledge:search?query=boat").await.expect(200);
    assert_eq!(made["knowledge_refs"], json!([found["items"][0]["card_id"]]));
    assert!(made["request"].as_str().unwrap().contains("A red boat sails."));
    // Dropped, it is found no more; the call is still what it was.
    api.delete("/projects/p1/knowledge?source_id=boats.md").await.expect(204);
    assert_eq!(call(&api, &leased, json!({})).await["knowledge_refs"], json!([]));
    let shown = show(&api, &made, "?render=true").await;
    assert_eq!((&shown["request"], &shown["hash_ok"]), (&made["request"], &json!(true)));
}
