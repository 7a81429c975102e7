//! Boxes over HTTP.

use crate::support::{Api, NOBODY, on_both, on_sqlite};
use cardwire_kernel::{Caller, protocol::Actor};
use serde_json::{Value, json};
use std::sync::Arc;

on_both! {
    a_box_shows_each_card_once_in_order;
    parallel_appends_lose_nothing;
    forks_of_forks_stay_readable_past_the_nesting_limit;
}

on_sqlite! {
    a_rewrite_keeps_the_old_generation_readable;
    a_fork_shows_a_prefix_and_does_not_follow_its_source;
    a_sealed_box_takes_no_changes;
    the_last_cards_of_a_box_are_hydrated;
    a_batch_of_boxes_names_what_is_missing;
    unknown_boxes_are_not_found_and_never_made;
    provenance_names_where_each_card_came_from;
    writing_and_appending_is_one_commit;
}

async fn append(api: &Api, box_id: &str, body: Value) -> crate::support::Reply {
    api.post(&format!("/projects/p1/l0/boxes/{box_id}/cards"), body).await
}

/// CB-11, CB-12, API-01
async fn a_box_shows_each_card_once_in_order(api: Api) {
    let ids = api.cards("p1", 4).await;
    let box_id = api.make_box("p1", &[ids[0].clone(), ids[1].clone(), ids[0].clone()]).await;
    let changed = append(&api, &box_id, json!({ "card_ids": [ids[1], ids[2], ids[2]] })).await.expect(200);
    assert_eq!((&changed["added"], &changed["len"]), (&json!([ids[2]]), &json!(3)));
    assert_eq!(api.shown("p1", &box_id).await, ids[..3]);
    assert_eq!(append(&api, &box_id, json!({ "card_ids": [ids[0]] })).await.expect(200)["added"], json!([]));
    append(&api, &box_id, json!({ "card_ids": [ids[3]], "expected_len": 2 }))
        .await
        .expect_error(409, "conflict");
    assert_eq!(api.shown("p1", &box_id).await, ids[..3]);
    append(&api, &box_id, json!({ "card_ids": [ids[3]], "expected_len": 3 })).await.expect(200);
    append(&api, &box_id, json!({ "card_ids": [ids[0], NOBODY] })).await.expect_error(404, "not_found");
    let read = api.get(&format!("/projects/p1/boxes/{box_id}")).await.expect(200);
    assert_eq!(read["card_ids"], json!(ids));
    assert_eq!((&read["generation"], &read["sealed"]), (&json!(1), &json!(false)));
}

/// CB-12, W-03
async fn parallel_appends_lose_nothing(api: Api) {
    let api = Arc::new(api);
    let ids = api.cards("p1", 100).await;
    let box_id = api.make_box("p1", &[]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for pair in ids.chunks(2) {
        let (api, box_id, pair) = (Arc::clone(&api), box_id.clone(), pair.to_vec());
        tasks.spawn(async move { append(&api, &box_id, json!({ "card_ids": pair })).await.expect(200) });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let shown = api.shown("p1", &box_id).await;
    assert_eq!(shown.len(), 100);
    for pair in ids.chunks(2) {
        let at = shown.iter().position(|id| *id == pair[0]).unwrap();
        assert_eq!(shown[at + 1], pair[1], "each call's ids stay together");
    }
}

/// CB-13, X-09
async fn a_rewrite_keeps_the_old_generation_readable(api: Api) {
    let ids = api.cards("p1", 3).await;
    let box_id = api.make_box("p1", &ids).await;
    let path = format!("/projects/p1/l0/boxes/{box_id}:rewrite");
    let rewritten = api.post(&path, json!({ "card_ids": [ids[2], ids[0]] })).await.expect(200);
    assert_eq!((&rewritten["generation"], &rewritten["len"]), (&json!(2), &json!(2)));
    assert_eq!(api.shown("p1", &box_id).await, [ids[2].clone(), ids[0].clone()]);
    let old = api.get(&format!("/projects/p1/boxes/{box_id}?generation=1")).await.expect(200);
    assert_eq!((&old["card_ids"], &old["generation"], &old["len"]), (&json!(ids), &json!(1), &json!(3)));
    for unknown in ["0", "3", "4294967295"] {
        api.get(&format!("/projects/p1/boxes/{box_id}?generation={unknown}"))
            .await
            .expect_error(404, "not_found");
    }
    for bad in ["-1", "x", "4294967296"] {
        api.get(&format!("/projects/p1/boxes/{box_id}?generation={bad}"))
            .await
            .expect_error(400, "bad_request");
    }
    api.post(&path, json!({ "card_ids": [NOBODY] })).await.expect_error(404, "not_found");
    append(&api, &box_id, json!({ "card_ids": [ids[1]] })).await.expect(200);
    assert_eq!(api.shown("p1", &box_id).await.len(), 3);
}

/// CB-11, CB-17
async fn a_fork_shows_a_prefix_and_does_not_follow_its_source(api: Api) {
    let ids = api.cards("p1", 5).await;
    let source = api.make_box("p1", &ids[..3]).await;
    let fork =
        api.post(&format!("/projects/p1/l0/boxes/{source}:fork"), json!({ "upto": 2 })).await.expect(201);
    assert_eq!(fork["card_ids"], json!(ids[..2]));
    let fork = fork["box_id"].as_str().unwrap();
    append(&api, &source, json!({ "card_ids": [ids[3]] })).await.expect(200);
    assert_eq!(api.shown("p1", fork).await, ids[..2]);
    // A card that a segment shows is there already.
    let added = append(&api, fork, json!({ "card_ids": [ids[1], ids[4]] })).await.expect(200);
    assert_eq!((&added["added"], &added["len"]), (&json!([ids[4]]), &json!(3)));
    assert_eq!(api.shown("p1", fork).await, [ids[0].clone(), ids[1].clone(), ids[4].clone()]);
    api.post(&format!("/projects/p1/l0/boxes/{source}:fork"), json!({ "upto": 5 }))
        .await
        .expect_error(400, "bad_request");
    let whole =
        api.with(&api.admin, "POST", &format!("/projects/p1/l0/boxes/{source}:fork"), "").await.expect(201);
    assert_eq!(whole["len"], 4);
    let hydrated = api.kernel.box_cards(&"p1".parse().unwrap(), fork.parse().unwrap()).await.unwrap();
    assert_eq!(hydrated.cards.len(), 3);
}

/// CB-11
async fn forks_of_forks_stay_readable_past_the_nesting_limit(api: Api) {
    let mut ids = api.cards("p1", 2).await;
    let mut newest = api.make_box("p1", &ids).await;
    for n in 0..70 {
        let fork = api.post(&format!("/projects/p1/l0/boxes/{newest}:fork"), json!({})).await.expect(201);
        newest = fork["box_id"].as_str().unwrap().to_owned();
        let card = api.card("p1", &format!("fork {n}")).await;
        append(&api, &newest, json!({ "card_ids": [card] })).await.expect(200);
        ids.push(card);
    }
    assert_eq!(api.shown("p1", &newest).await, ids);
    let hydrated = api.kernel.box_cards(&"p1".parse().unwrap(), newest.parse().unwrap()).await.unwrap();
    let read: Vec<_> = hydrated.cards.iter().map(|card| card.id.to_string()).collect();
    assert_eq!(read, ids);
}

/// X-09
async fn a_sealed_box_takes_no_changes(api: Api) {
    let ids = api.cards("p1", 2).await;
    let box_id = api.make_box("p1", &ids[..1]).await;
    let caller = Caller { actor: Actor::system("test") };
    let project = "p1".parse().unwrap();
    // Remember the head first: a remembered head must not let a write through.
    append(&api, &box_id, json!({ "card_ids": [] })).await.expect(200);
    api.kernel.seal_box(&project, &caller, box_id.parse().unwrap()).await.unwrap();
    append(&api, &box_id, json!({ "card_ids": [ids[1]] })).await.expect_error(409, "box_sealed");
    let path = format!("/projects/p1/l0/boxes/{box_id}:rewrite");
    api.post(&path, json!({ "card_ids": [] })).await.expect_error(409, "box_sealed");
    let read = api.get(&format!("/projects/p1/boxes/{box_id}")).await.expect(200);
    assert_eq!((&read["card_ids"], &read["sealed"]), (&json!([ids[0]]), &json!(true)));
    api.post(&format!("/projects/p1/l0/boxes/{box_id}:fork"), json!({})).await.expect(201);
}

/// API-03
async fn the_last_cards_of_a_box_are_hydrated(api: Api) {
    let ids = api.cards("p1", 6).await;
    let box_id = api.make_box("p1", &ids).await;
    let read = async |query: &str| {
        let cards = api.get(&format!("/projects/p1/boxes/{box_id}/cards{query}")).await.expect(200);
        cards
            .as_array()
            .unwrap()
            .iter()
            .map(|card| card["card_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(read("").await, ids);
    assert_eq!(read("?limit=2").await, ids[4..]);
    assert_eq!(read("?limit=0").await, ids[5..]);
    assert_eq!(read("?limit=-5").await, ids[5..]);
    assert_eq!(read("?limit=100000").await, ids);
    assert_eq!(read("?limit=99999999999999999999").await, ids);
    assert_eq!(read("?limit=-99999999999999999999").await, ids[5..]);
    for bad in ["?limit=x", "?limit=1.5", "?limit=", "?limit=9e9", "?other=1", "?limit=1&limit=2"] {
        api.get(&format!("/projects/p1/boxes/{box_id}/cards{bad}")).await.expect_error(400, "bad_request");
    }
    api.get(&format!("/projects/p1/boxes/{NOBODY}/cards")).await.expect_error(404, "not_found");
}

/// API-02
async fn a_batch_of_boxes_names_what_is_missing(api: Api) {
    let ids = api.cards("p1", 3).await;
    let (first, second) = (api.make_box("p1", &ids).await, api.make_box("p1", &ids[1..]).await);
    let asked = json!({ "box_ids": [second, NOBODY, first, second, NOBODY] });
    let batch = api.post("/projects/p1/boxes/batch", asked).await.expect(200);
    assert_eq!(batch["missing_box_ids"], json!([NOBODY]));
    assert_eq!(batch["boxes"][0]["box_id"], json!(second));
    assert_eq!(batch["boxes"][1]["card_ids"], json!(ids));
    assert!(batch["boxes"][0].get("hydrated_cards").is_none());
    api.delete(&format!("/projects/p1/l0/cards/{}", ids[2])).await.expect(204);
    let asked = json!({ "box_ids": [first, second], "hydrate": true, "limit": 2 });
    let batch = api.post("/projects/p1/boxes/batch", asked).await.expect(200);
    assert_eq!(batch["missing_card_ids"], json!([ids[2]]));
    assert_eq!(batch["boxes"][0]["card_ids"], json!(ids), "card_ids stays complete");
    assert_eq!(batch["boxes"][0]["hydrated_cards"].as_array().unwrap().len(), 1);
    let asked = json!({ "box_ids": [first], "hydrate": true, "limit": null });
    let path = "/projects/p1/boxes/batch?include_deleted=true";
    let batch = api.post(path, asked).await.expect(200);
    assert_eq!(batch["missing_card_ids"], json!([]));
    assert!(batch["boxes"][0]["hydrated_cards"][2]["deleted_at"].is_string());
    let asked = json!({ "box_ids": [first], "hydrate": null });
    let batch = api.post("/projects/p1/boxes/batch", asked).await.expect(200);
    assert!(batch["boxes"][0].get("hydrated_cards").is_none(), "null is absent");
    let asked = format!(r#"{{"box_ids":["{first}"],"hydrate":true,"limit":99999999999999999999}}"#);
    let batch = api.post_raw("/projects/p1/boxes/batch", &asked).await.expect(200);
    assert_eq!(batch["boxes"][0]["hydrated_cards"].as_array().unwrap().len(), 2);
    let empty = api.post("/projects/p1/boxes/batch", json!({ "box_ids": [] })).await.expect(200);
    assert_eq!(empty, json!({ "boxes": [], "missing_box_ids": [], "missing_card_ids": [] }));
    let many: Vec<_> = (0..101).map(|n| format!("{n:032x}")).collect();
    api.post("/projects/p1/boxes/batch", json!({ "box_ids": many[..100] })).await.expect(200);
    api.post("/projects/p1/boxes/batch", json!({ "box_ids": many })).await.expect_error(400, "bad_request");
}

/// W-02
async fn unknown_boxes_are_not_found_and_never_made(api: Api) {
    let card = api.card("p1", "x").await;
    append(&api, NOBODY, json!({ "card_ids": [card] })).await.expect_error(404, "not_found");
    let body = json!({ "box_id": NOBODY, "card_ids": [card] });
    api.post("/projects/p1/l0/boxes", body).await.expect_error(404, "not_found");
    api.get(&format!("/projects/p1/boxes/{NOBODY}")).await.expect_error(404, "not_found");
    for verb in ["rewrite", "fork", "nothing"] {
        let path = format!("/projects/p1/l0/boxes/{NOBODY}:{verb}");
        let status = api.post(&path, json!({ "card_ids": [] })).await.status;
        assert!(status.is_client_error(), "{verb}: {status}");
    }
    let box_id = api.make_box("p1", std::slice::from_ref(&card)).await;
    let same =
        api.post("/projects/p1/l0/boxes", json!({ "box_id": box_id, "card_ids": [card] })).await.expect(200);
    assert_eq!(same["idempotent"], true);
    let other = json!({ "box_id": box_id, "card_ids": [] });
    api.post("/projects/p1/l0/boxes", other).await.expect_error(409, "conflict");
    assert_eq!(api.store.scan_boxes(&"p1".parse().unwrap(), None, 10).await.unwrap().len(), 1);
}

/// PK-19 as far as boxes made here go
async fn provenance_names_where_each_card_came_from(api: Api) {
    let ids = api.cards("p1", 3).await;
    let source = api.make_box("p1", &ids[..2]).await;
    let fork = api.post(&format!("/projects/p1/l0/boxes/{source}:fork"), json!({})).await.expect(201);
    let fork = fork["box_id"].as_str().unwrap();
    append(&api, fork, json!({ "card_ids": [ids[2]] })).await.expect(200);
    let read = api.get(&format!("/projects/p1/boxes/{fork}/provenance")).await.expect(200);
    assert_eq!(read["handover_hash"], Value::Null);
    let inherited = |id: &str| json!({ "card_id": id, "origin": "box", "box_id": source, "generation": 1 });
    let direct = json!({ "card_id": ids[2], "origin": "direct" });
    assert_eq!(read["cards"], json!([inherited(&ids[0]), inherited(&ids[1]), direct]));
}

/// CB-12: the path turns will use, with a remembered head.
async fn writing_and_appending_is_one_commit(api: Api) {
    let box_id = api.make_box("p1", &[]).await;
    let (project, caller) = ("p1".parse().unwrap(), Caller { actor: Actor::system("test") });
    let json = |text| cardwire_model::CanonicalJson::parse(text, "x").unwrap();
    let draft = || cardwire_model::CardDraft {
        content: json("1"),
        metadata: json(r#"{"type":"x"}"#),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    };
    let put = async || {
        let drafts = vec![(draft(), cardwire_model::Origin::Agent)];
        api.kernel.put_and_append(&project, &caller, box_id.parse().unwrap(), drafts).await
    };
    put().await.unwrap();
    put().await.unwrap();
    let path = format!("/projects/p1/l0/boxes/{box_id}:rewrite");
    api.post(&path, json!({ "card_ids": [] })).await.expect(200);
    assert_eq!(put().await.unwrap().generation.get(), 2, "a remembered head is not trusted");
    assert_eq!(api.shown("p1", &box_id).await.len(), 1);
    api.kernel.seal_box(&project, &caller, box_id.parse().unwrap()).await.unwrap();
    assert!(put().await.is_err());
    assert_eq!(api.shown("p1", &box_id).await.len(), 1);
}
