//! The event stream (API-13, NF-08).

use crate::support::{Api, on_both};
use axum::{body::Body, http::Request};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

on_both! {
    the_log_tells_what_happened_in_order;
    a_stream_resumes_exactly;
    a_live_stream_gets_every_event_once_under_concurrent_writers;
    a_stream_of_one_agent_gets_every_event_of_it_among_those_of_others;
    a_revoked_token_ends_the_stream;
}

/// Reads a stream until `enough` events came, or until it ends.
async fn read(
    api: &Api,
    token: &str,
    query: &str,
    last_id: Option<u64>,
    enough: usize,
) -> Vec<(u64, String, Value)> {
    collect(open(api, token, query, last_id).await, enough).await
}

/// A stream that was let in.
async fn open(api: &Api, token: &str, query: &str, last_id: Option<u64>) -> Body {
    let mut request = Request::get(format!("/projects/p1/events{query}"))
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"));
    if let Some(last) = last_id {
        request = request.header("last-event-id", last.to_string());
    }
    let response = api.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

async fn collect(body: Body, enough: usize) -> Vec<(u64, String, Value)> {
    let mut body = body.into_data_stream();
    let (mut text, mut events) = (String::new(), vec![]);
    while events.len() < enough {
        let Some(chunk) = body.next().await else { break };
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        while let Some((block, rest)) = text.split_once("\n\n") {
            let field = |name: &str| {
                block.lines().find_map(|line| line.strip_prefix(name)).map(|v| v.trim().to_owned())
            };
            if let Some(data) = field("data:") {
                let id = field("id:").unwrap().parse().unwrap();
                events.push((id, field("event:").unwrap(), serde_json::from_str(&data).unwrap()));
            }
            text = rest.to_owned();
        }
    }
    events
}

async fn the_log_tells_what_happened_in_order(api: Api) {
    let card = api.card("p1", "x").await;
    let box_id = api.make_box("p1", &[]).await;
    api.post(&format!("/projects/p1/l0/boxes/{box_id}/cards"), json!({ "card_ids": [card] }))
        .await
        .expect(200);
    api.delete(&format!("/projects/p1/l0/cards/{card}")).await.expect(204);
    api.card("p2", "elsewhere").await;
    let events = read(&api, &api.admin, "?after=0", None, 5).await;
    let kinds: Vec<_> = events.iter().map(|(_, kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["project.created", "card.created", "box.created", "box.appended", "card.deleted"]);
    let positions: Vec<_> = events.iter().map(|(id, _, _)| *id).collect();
    assert_eq!(positions, [1, 2, 3, 4, 5]);
    let appended = &events[3].2;
    assert_eq!(appended["position"], 4);
    assert_eq!(appended["kind"], "box.appended");
    assert_eq!(appended["subject"], format!("cg.v1.p1.public.evt.box.{box_id}.appended"));
    assert_eq!(appended["data"]["card_ids"], json!([card]));
    api.get("/projects/p1/events?after=-1").await.expect_error(400, "bad_request");
    api.get("/projects/p1/events?after=x").await.expect_error(400, "bad_request");
}

async fn a_stream_resumes_exactly(api: Api) {
    api.cards("p1", 9).await;
    let all = read(&api, &api.admin, "", None, 10).await;
    assert_eq!(all.len(), 10);
    for (after, expected) in [(0, 10), (4, 6), (9, 1)] {
        let rest = read(&api, &api.admin, &format!("?after={after}"), None, expected).await;
        assert_eq!(rest, all[after..]);
        let resumed = read(&api, &api.admin, "?after=0", Some(after as u64), expected).await;
        assert_eq!(resumed, all[after..], "Last-Event-ID wins");
    }
    assert_eq!(read(&api, &api.admin, "?after=10&follow=false", None, 1).await, []);
    assert_eq!(read(&api, &api.admin, "?follow=false", None, usize::MAX).await, all);
}

/// NF-08
async fn a_live_stream_gets_every_event_once_under_concurrent_writers(api: Api) {
    let api = Arc::new(api);
    let (writers, each) = (8, 25);
    let reader = {
        let api = Arc::clone(&api);
        tokio::task::spawn(async move { read(&api, &api.admin, "?after=1", None, writers * each).await })
    };
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let api = Arc::clone(&api);
        tasks.spawn(async move {
            let mut ids = vec![];
            for n in 0..each {
                ids.push(api.card("p1", &format!("{writer} {n}")).await);
            }
            ids
        });
    }
    let mut written = vec![];
    while let Some(ids) = tasks.join_next().await {
        written.push(ids.unwrap());
    }
    let events = reader.await.unwrap();
    let positions: Vec<_> = events.iter().map(|(id, _, _)| *id).collect();
    assert_eq!(positions, (2..2 + (writers * each) as u64).collect::<Vec<_>>());
    let seen: Vec<_> = events.iter().map(|(_, _, data)| data["target"].as_str().unwrap()).collect();
    for ids in written {
        let places: Vec<_> = ids.iter().map(|id| seen.iter().position(|seen| seen == id).unwrap()).collect();
        assert!(places.is_sorted(), "one writer's events come in the order it wrote them");
    }
}

/// NF-08: what others do is passed over, and nothing of the agent with it.
async fn a_stream_of_one_agent_gets_every_event_of_it_among_those_of_others(api: Api) {
    let (turn, others, thoughts) = (api.running("a1").await, 4, 30);
    let stream = open(&api, &api.admin, "?agent_id=a1", None).await;
    let others = futures_util::future::join_all((0..others).map(|_| api.cards("p1", 50)));
    let think = async {
        let mut ids = vec![];
        for n in 0..thoughts {
            ids.push(api.think(&turn, &n.to_string()).await);
        }
        ids
    };
    // Added, two states, and an append for each thought.
    let (events, ids, _) = tokio::join!(collect(stream, 3 + thoughts), think, others);
    let appended: Vec<_> =
        events[3..].iter().map(|(_, _, data)| data["data"]["card_ids"][0].clone()).collect();
    assert_eq!(appended, ids);
}

/// SEC-02
async fn a_revoked_token_ends_the_stream(api: Api) {
    let made = api.post("/tokens", json!({ "scopes": ["read"] })).await.expect(201);
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let stream = open(&api, token, "", None).await;
    let path = format!("/tokens/{id}");
    let (events, revoked) = tokio::join!(collect(stream, usize::MAX), api.delete(&path));
    revoked.expect(204);
    assert!(events.len() <= 1);
}
