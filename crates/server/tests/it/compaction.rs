//! Compaction over HTTP (SPEC.md, Compaction).

use crate::support::{Api, NOBODY, Scribe, names, on_sqlite, texts};
use cardwire_kernel::ContextConfig;
use serde_json::{Value, json};
use std::sync::Arc;

on_sqlite! {
    cp_02_the_last_messages_and_every_word_of_people_stay;
    cp_02_nothing_to_compress_is_no_change;
    cp_04_the_summary_is_a_block_and_never_a_message;
    cp_05_one_patch_does_it_and_the_next_summary_has_the_last;
    cp_05_a_summary_by_hand_leaves_the_one_before_it;
    cp_06_without_a_summary_everything_stays;
    cp_07_people_are_neither_lost_nor_doubled;
    cp_08_the_old_box_stays_and_a_summary_can_be_opened;
}

/// `m1`, `m2`, … by turns of a person and a model.
async fn talk(api: &Api, from: usize, to: usize) {
    let said: Vec<_> = (from..=to)
        .map(|n| (format!("m{n}"), if n % 2 == 1 { "human" } else { "ai" }, format!("text {n}")))
        .collect();
    let said: Vec<_> = said.iter().map(|(id, role, text)| (id.as_str(), *role, text.as_str())).collect();
    api.say("s", &said).await;
}

async fn compact(api: &Api, body: Value) -> Value {
    api.post("/projects/p1/sessions/s:compact", body).await.expect(200)
}

fn ids(session: &Value) -> Vec<&str> {
    session["messages"].as_array().unwrap().iter().map(|said| said["id"].as_str().unwrap()).collect()
}

async fn cp_02_the_last_messages_and_every_word_of_people_stay(api: Api) {
    talk(&api, 1, 12).await;
    let done = compact(&api, json!({ "summary": "so far" })).await;
    let expected =
        json!({ "success": true, "compacted": true, "covered": 3, "summary": "so far", "version": 2 });
    assert_eq!(done, expected);
    let session = api.session("s").await;
    assert_eq!(ids(&session), ["m1", "m3", "m5", "m7", "m8", "m9", "m10", "m11", "m12"]);
    let listed = api.items("sessions/s/checkpoints").await;
    assert_eq!((&listed[0]["message_count"], &listed[1]["message_count"]), (&json!(9), &json!(12)));
    let done = compact(&api, json!({ "summary": "more", "min_keep_entries": 1 })).await;
    assert_eq!(done["covered"], 2);
    assert_eq!(ids(&api.session("s").await), ["m1", "m3", "m5", "m7", "m9", "m11", "m12"]);
    // What is said after goes on from there.
    talk(&api, 13, 14).await;
    assert_eq!(api.session("s").await["messages"].as_array().unwrap().len(), 9);
    // The project may say how many.
    api.settle(json!({ "min_keep_entries": 2 })).await;
    assert_eq!(compact(&api, json!({ "summary": "again" })).await["covered"], 1);
}

async fn cp_02_nothing_to_compress_is_no_change(api: Api) {
    talk(&api, 1, 5).await;
    let before = api.session("s").await;
    for body in [json!({ "summary": "x" }), json!({ "summary": "x", "min_keep_entries": 9 }), json!({})] {
        let done = compact(&api, body).await;
        assert_eq!(done, json!({ "success": true, "compacted": false, "covered": 0, "version": 1 }));
    }
    api.say("s", &[]).await;
    assert_eq!(api.session("s").await, before);
    api.post("/projects/p1/sessions/none:compact", json!({})).await.expect_error(404, "not_found");
}

async fn cp_04_the_summary_is_a_block_and_never_a_message(api: Api) {
    talk(&api, 1, 12).await;
    compact(&api, json!({ "summary": "  the gist\n" })).await;
    let restarted = api.again(ContextConfig::default());
    for server in [&api, &restarted] {
        let session = server.session("s").await;
        assert_eq!(session["compression__context"], "the gist");
        assert!(texts(&session["messages"]).iter().all(|text| !text.contains("the gist")), "{session}");
        assert_eq!(server.contexts("s").await["compression__context"], "the gist");
    }
}

async fn cp_05_one_patch_does_it_and_the_next_summary_has_the_last(api: Api) {
    let scribe = Arc::new(Scribe::new(&[Ok("first gist"), Ok("second gist")]));
    let server =
        api.again(ContextConfig { summariser: Some(Arc::clone(&scribe) as _), ..ContextConfig::default() });
    talk(&server, 1, 12).await;
    assert_eq!(compact(&server, json!({})).await["version"], 2, "messages and summary together");
    talk(&server, 13, 20).await;
    let before = server.session("s").await["messages"].as_array().unwrap().len();
    let done = compact(&server, json!({})).await;
    assert_eq!((&done["summary"], &done["version"]), (&json!("second gist"), &json!(4)));
    let asked = scribe.asked.lock().unwrap().clone();
    assert!(asked[0].contains("text 2") && !asked[0].contains("gist"), "{}", asked[0]);
    assert!(asked[1].contains("first gist") && asked[1].contains("text 14"), "{}", asked[1]);
    let after = api.again(ContextConfig::default()).session("s").await;
    assert!(after["messages"].as_array().unwrap().len() < before, "it shrinks and stays so after a restart");
    assert_eq!(after["compression__context"], "second gist");
}

/// W-15
async fn cp_05_a_summary_by_hand_leaves_the_one_before_it(api: Api) {
    talk(&api, 1, 12).await;
    compact(&api, json!({ "summary": "first" })).await;
    talk(&api, 13, 20).await;
    let asked = api.get("/projects/p1/sessions/s/compaction").await.expect(200);
    let done = compact(&api, json!({ "summary": "second" })).await;
    assert_eq!(done["summary"], "first\n\nsecond");
    assert_eq!(api.session("s").await["compression__context"], "first\n\nsecond");
    assert_eq!(api.contexts("s").await["compression__context"], "first\n\nsecond");
    // Whoever asked a model, with the summary of then, has it in the answer; one that came since is not in it.
    talk(&api, 21, 28).await;
    let body = json!({ "summary": "third", "follows": asked["follows"] });
    assert_eq!(compact(&api, body).await["summary"], "first\n\nsecond\n\nthird");
    talk(&api, 29, 36).await;
    let asked = api.get("/projects/p1/sessions/s/compaction").await.expect(200);
    assert!(asked["prompt"].as_str().unwrap().contains("third"), "{asked}");
    let body = json!({ "summary": "all of it", "follows": asked["follows"] });
    assert_eq!(compact(&api, body).await["summary"], "all of it");
    let bad = json!({ "summary": "x", "follows": "y" });
    names(&api.post("/projects/p1/sessions/s:compact", bad).await, "bad_request", "follows");
}

async fn cp_06_without_a_summary_everything_stays(api: Api) {
    talk(&api, 1, 12).await;
    compact(&api, json!({ "summary": "kept" })).await;
    talk(&api, 13, 20).await;
    let before = api.session("s").await;
    for blank in ["", " \n"] {
        let done = compact(&api, json!({ "summary": blank })).await;
        assert_eq!(
            (&done["success"], &done["compacted"], &done["version"]),
            (&json!(false), &json!(false), &before["version"])
        );
        assert!(done["error"].as_str().unwrap().contains("empty"), "{done}");
    }
    let nobody = compact(&api, json!({})).await;
    assert_eq!((&nobody["success"], nobody["error"].is_string()), (&json!(false), true));
    let scribe = Arc::new(Scribe::new(&[Err("out of ink"), Ok(" ")]));
    let server = api.again(ContextConfig { summariser: Some(scribe as _), ..ContextConfig::default() });
    let failed = compact(&server, json!({})).await;
    assert_eq!((&failed["success"], &failed["error"]), (&json!(false), &json!("out of ink")));
    assert_eq!(compact(&server, json!({})).await["success"], false);
    assert_eq!(api.session("s").await, before);
}

async fn cp_07_people_are_neither_lost_nor_doubled(api: Api) {
    let people = |session: &Value| -> Vec<String> {
        let said = session["messages"].as_array().unwrap().iter().filter(|said| said["role"] == "human");
        said.map(|said| said["content"].as_str().unwrap().to_owned()).collect()
    };
    talk(&api, 1, 12).await;
    let before = api.session("s").await;
    compact(&api, json!({ "summary": "x" })).await;
    let compacted = api.session("s").await;
    assert_eq!(people(&compacted), people(&before));
    // Who says it again, under the same ids, adds nothing.
    let humans: Vec<_> = (1..=11).step_by(2).map(|n| (format!("m{n}"), format!("text {n}"))).collect();
    let humans: Vec<_> = humans.iter().map(|(id, text)| (id.as_str(), "human", text.as_str())).collect();
    assert_eq!(api.say("s", &humans).await["changed"], false);
    for to in [&before, &compacted] {
        let body = json!({ "checkpoint_id": to["checkpoint_id"] });
        api.post("/projects/p1/sessions/s:restore", body).await.expect(200);
        let restored = api.session("s").await;
        assert_eq!((&restored["messages"], people(&restored)), (&to["messages"], people(&before)));
        assert_eq!(restored["compression__context"], to["compression__context"]);
    }
}

async fn cp_08_the_old_box_stays_and_a_summary_can_be_opened(api: Api) {
    talk(&api, 1, 12).await;
    let before = api.session("s").await;
    let old = before["memory_box_id"].as_str().unwrap();
    let shown = api.shown("p1", old).await;
    compact(&api, json!({ "summary": "first" })).await;
    let now = api.session("s").await;
    let new = now["memory_box_id"].as_str().unwrap();
    assert_ne!(new, old);
    assert_eq!(api.shown("p1", old).await, shown, "the old box is as it was");
    let cards = api.shown("p1", new).await;
    let expand = async |card: &str| api.get(&format!("/projects/p1/context:expand?card={card}")).await;
    let opened = expand(&cards[0]).await.expect(200);
    assert_eq!((&opened["card_id"], &opened["summary"]), (&json!(cards[0]), &json!("first")));
    let covered = |opened: &Value| -> Vec<String> {
        opened["cards"]
            .as_array()
            .unwrap()
            .iter()
            .map(|card| card["content"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(covered(&opened), ["text 2", "text 4", "text 6"]);
    assert_eq!(
        (&opened["cards"][0]["type"], &opened["cards"][0]["role"]),
        (&json!("session.message"), &json!("assistant"))
    );
    compact(&api, json!({ "summary": "second", "min_keep_entries": 1 })).await;
    let second = api.shown("p1", api.session("s").await["memory_box_id"].as_str().unwrap()).await;
    let opened = expand(&second[0]).await.expect(200);
    assert_eq!(covered(&opened), ["text 2", "text 4", "text 6", "text 8", "text 10"], "with those before it");
    expand(&cards[1]).await.expect_error(404, "not_found");
    expand(NOBODY).await.expect_error(404, "not_found");
    names(&expand("x").await, "bad_request", "card");
    names(&api.get("/projects/p1/context:expand").await, "bad_request", "card");
}
