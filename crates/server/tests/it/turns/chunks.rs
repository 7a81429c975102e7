//! What a turn is writing, while it writes it.

use crate::support::{Api, on_sqlite};
use axum::{body::Body, http::Request};
use cardwire_model::limits;
use futures_util::StreamExt;
use serde_json::json;
use tower::ServiceExt;

on_sqlite! {
    whoever_watches_a_turn_hears_it_until_it_ends;
    only_the_holder_of_a_turn_is_heard;
}

async fn watch(api: &Api, turn: &str) -> Body {
    let request = Request::get(format!("/projects/p1/turns/{turn}/chunks"))
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", api.admin));
    let response = api.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    response.into_body()
}

/// Everything that a stream says until it ends.
async fn all(body: Body) -> String {
    let mut text = String::new();
    let mut body = body.into_data_stream();
    while let Some(chunk) = body.next().await {
        text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
    text
}

async fn whoever_watches_a_turn_hears_it_until_it_ends(api: Api) {
    let (leased, other) = (api.running("a1").await, api.running("a2").await);
    let watched = watch(&api, &leased.turn).await;
    for (index, text) in ["One, ", "two."].iter().enumerate() {
        api.verb(&leased, "/chunks", json!({ "index": index, "text": text })).await.expect(204);
    }
    api.verb(&other, "/chunks", json!({ "index": 0, "text": "Something else." })).await.expect(204);
    api.finish(&leased, "success").await;
    let heard = all(watched).await;
    assert_eq!(heard.matches("event: chunk").count(), 2, "{heard}");
    assert!(
        heard.contains(r#""index":0,"text":"One, ""#) && heard.contains(r#""index":1,"text":"two.""#),
        "{heard}"
    );
    assert!(!heard.contains("Something else."));
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", leased.output)).await.expect(200);
    assert_eq!(cards.as_array().unwrap().len(), 1, "the deliverable; chunks are kept by nobody");
}

async fn only_the_holder_of_a_turn_is_heard(api: Api) {
    let leased = api.running("a1").await;
    let stale = json!({ "index": 0, "text": "x", "turn_epoch": leased.epoch + 1 });
    api.verb(&leased, "/chunks", stale).await.expect_error(409, "stale_turn");
    let large = |bytes: usize| json!({ "index": 0, "text": "x".repeat(bytes) });
    api.verb(&leased, "/chunks", large(limits::CHUNK_BYTES)).await.expect(204);
    api.verb(&leased, "/chunks", large(limits::CHUNK_BYTES + 1)).await.expect_error(413, "too_large");
    let nobody = format!("/projects/p1/turns/turn_{}/chunks", "0".repeat(32));
    api.get(&nobody).await.expect_error(404, "not_found");
}
