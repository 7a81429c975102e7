//! Lists of cards and boxes, cards by what they say, and where a card is used (IN-14).

use crate::support::{Api, NOBODY, names, on_both, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};

on_both! {
    in_14_cards_are_listed_by_type_and_by_what_they_say;
    in_14_boxes_are_listed_newest_first;
    in_14_a_card_knows_the_boxes_that_hold_it;
    in_14_a_card_knows_the_calls_that_sent_it;
}

on_sqlite! {
    in_14_a_search_is_bounded;
    in_14_of_another_project_nothing_is_told;
}

fn ids(list: &Value, name: &str) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item[name].as_str().unwrap().to_owned()).collect()
}

async fn in_14_cards_are_listed_by_type_and_by_what_they_say(api: Api) {
    let red = api.card("p1", "The RED boat, \"quoted\".").await;
    let blue = api.card("p1", "the blue Über-boat").await;
    let body = json!({ "content": { "colour": "red", "n": 1 }, "metadata": { "type": "custom.x" } });
    let json_card = api.post("/projects/p1/l0/cards", body).await.expect(201);
    let json_card = json_card["card_id"].as_str().unwrap().to_owned();
    let list = async |query: &str| api.get(&format!("/projects/p1/cards{query}")).await.expect(200);
    let found = async |query: &str| ids(&list(query).await, "card_id");
    assert_eq!(found("").await, [&*json_card, &*blue, &*red]);
    assert_eq!(found("?text=red").await, [&*json_card, &*red]);
    assert_eq!(found("?text=%C3%BCBER").await, [&*blue]);
    assert_eq!(found("?text=%22quoted%22.").await, [&*red]);
    assert_eq!(found("?type=custom.x").await, [&*json_card]);
    assert_eq!(found("?type=custom.x&text=boat").await, Vec::<String>::new());
    // Page by page, deleted ones too: an inspector shows what there was.
    api.delete(&format!("/projects/p1/l0/cards/{blue}")).await.expect(204);
    let (mut seen, mut query) = (vec![], "?limit=1".to_owned());
    loop {
        let page = list(&query).await;
        seen.extend(page["items"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit=1&cursor={cursor}"),
            None => break,
        }
    }
    let order: Vec<_> = seen.iter().map(|card| card["card_id"].as_str().unwrap()).collect();
    assert_eq!(order, [&*json_card, &*blue, &*red]);
    assert!(seen[1]["deleted_at"].is_string() && seen[0].get("deleted_at").is_none());
}

async fn in_14_a_search_is_bounded(api: Api) {
    let refused = async |query: &str| api.get(&format!("/projects/p1/cards?{query}")).await;
    names(&refused("text=%20").await, "bad_request", "text");
    let long = "x".repeat(limits::SEARCH_TEXT_CHARS + 1);
    refused(&format!("text={long}")).await.expect_error(413, "too_large");
    refused(&format!("text={}", "x".repeat(limits::SEARCH_TEXT_CHARS))).await.expect(200);
    names(&refused("type=%20").await, "bad_request", "type");
    names(&refused("cursor=x").await, "bad_request", "cursor");
}

async fn in_14_boxes_are_listed_newest_first(api: Api) {
    let cards = api.cards("p1", 3).await;
    let mut boxes = vec![];
    for len in 0..3 {
        boxes.push(api.make_box("p1", &cards[..len]).await);
    }
    boxes.reverse();
    let page = api.get("/projects/p1/boxes").await.expect(200);
    assert_eq!(ids(&page, "box_id"), boxes);
    assert_eq!((&page["items"][0]["len"], &page["items"][0]["generation"]), (&json!(2), &json!(1)));
    let page = api.get("/projects/p1/boxes?limit=2").await.expect(200);
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = api.get(&format!("/projects/p1/boxes?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!((ids(&page, "box_id"), page.get("next_cursor")), (boxes[2..].to_vec(), None));
}

async fn in_14_a_card_knows_the_boxes_that_hold_it(api: Api) {
    let cards = api.cards("p1", 3).await;
    let source = api.make_box("p1", &cards).await;
    let fork = async |upto: u32| {
        let body = json!({ "upto": upto });
        let made = api.post(&format!("/projects/p1/l0/boxes/{source}:fork"), body).await.expect(201);
        made["box_id"].as_str().unwrap().to_owned()
    };
    let (short, long) = (fork(1).await, fork(2).await);
    let body = json!({ "card_ids": [cards[0]] });
    api.post(&format!("/projects/p1/l0/boxes/{source}:rewrite"), body).await.expect(200);
    let held = async |card: &str| {
        let list = api.get(&format!("/projects/p1/cards/{card}/boxes")).await.expect(200);
        assert_eq!(list["cut"], false);
        let item = |item: &Value| {
            let via = item.get("via_box_id").and_then(Value::as_str).map(str::to_owned);
            (item["box_id"].as_str().unwrap().to_owned(), item["generation"].as_u64().unwrap(), via)
        };
        list["items"].as_array().unwrap().iter().map(item).collect::<Vec<_>>()
    };
    let via = || Some(source.clone());
    let (own, again) = ((source.clone(), 1, None), (source.clone(), 2, None));
    let (by_short, by_long) = ((short, 1, via()), (long, 1, via()));
    assert_eq!(held(&cards[0]).await, [own.clone(), again, by_short, by_long.clone()]);
    assert_eq!(held(&cards[1]).await, [own.clone(), by_long]);
    assert_eq!(held(&cards[2]).await, [own]);
}

async fn in_14_a_card_knows_the_calls_that_sent_it(api: Api) {
    let card = api.card("p1", "look at this").await;
    let context = api.make_box("p1", std::slice::from_ref(&card)).await;
    api.dispatch_with("a", json!({ "context_box_id": context })).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    let mut calls = vec![];
    for _ in 0..2 {
        calls.push(api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect(201));
    }
    let thought = api.think(&leased, "hm").await;
    calls.push(api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect(201));
    calls.reverse();
    let sent = async |card: &str, query: &str| {
        api.get(&format!("/projects/p1/cards/{card}/calls{query}")).await.expect(200)
    };
    let made: Vec<_> = calls.iter().map(|call| call["call_id"].as_str().unwrap().to_owned()).collect();
    let list = sent(&card, "").await;
    assert_eq!(ids(&list, "call_id"), made);
    let item = &list["items"][0];
    assert_eq!((&item["layer"], &item["reason"]), (&json!("query"), &json!("instruction")));
    assert_eq!((&item["agent_turn_id"], &item["spent"]), (&json!(leased.turn), &Value::Null));
    assert_eq!(item["total_tokens"], calls[0]["total_tokens"]);
    assert_eq!(ids(&sent(&thought, "").await, "call_id"), made[..1]);
    let page = sent(&card, "?limit=2").await;
    assert_eq!(ids(&page, "call_id"), made[..2]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = sent(&card, &format!("?limit=2&cursor={cursor}")).await;
    assert_eq!((ids(&page, "call_id"), page.get("next_cursor")), (made[2..].to_vec(), None));
}

async fn in_14_of_another_project_nothing_is_told(api: Api) {
    let card = api.card("p1", "secret").await;
    api.make_box("p1", std::slice::from_ref(&card)).await;
    for list in ["cards?text=secret", "cards", "boxes", "outlines"] {
        assert_eq!(api.get(&format!("/projects/p2/{list}")).await.expect(200)["items"], json!([]), "{list}");
    }
    for (project, id) in [("p2", card.as_str()), ("p1", NOBODY)] {
        for of in ["boxes", "calls"] {
            api.get(&format!("/projects/{project}/cards/{id}/{of}")).await.expect_error(404, "not_found");
        }
    }
}
