//! The boxes of a turn (CB-14, DP-05, DP-06, X-09, X-10).

use crate::support::{Api, NOBODY, on_both, on_sqlite};
use serde_json::json;

on_both! {
    a_box_is_written_or_given_never_both;
    boxes_of_another_project_are_not_found;
}

on_sqlite! {
    the_context_is_sealed_and_the_output_is_new;
    an_output_box_has_one_writer;
    what_a_box_held_before_a_turn_is_what_it_held_when_it_was_leased;
    an_output_box_must_be_there_and_open;
    a_box_that_is_written_is_nobodys_context;
}

/// X-09, DP-05
async fn the_context_is_sealed_and_the_output_is_new(api: Api) {
    let turn = api.dispatch("a1").await;
    let context = api.get(&format!("/projects/p1/boxes/{}", turn.context)).await.expect(200);
    assert_eq!(context["sealed"], true);
    let card = api.card("p1", "too late").await;
    let path = format!("/projects/p1/l0/boxes/{}/cards", turn.context);
    api.post(&path, json!({ "card_ids": [card] })).await.expect_error(409, "box_sealed");
    let path = format!("/projects/p1/l0/boxes/{}:rewrite", turn.context);
    api.post(&path, json!({ "card_ids": [card] })).await.expect_error(409, "box_sealed");
    assert_eq!(api.shown("p1", &turn.context).await.len(), 1);
    assert!(api.shown("p1", &turn.output).await.is_empty());
    assert_ne!(turn.context, turn.output);
    // One context may be given to many.
    api.dispatch_with("a2", json!({ "context_box_id": turn.context })).await;
}

/// CB-14: one writer at a time; the same agent's turns are one after the other.
async fn an_output_box_has_one_writer(api: Api) {
    let output = api.make_box("p1", &[]).await;
    let first = api.dispatch_with("a1", json!({ "output_box_id": output })).await;
    let body = api.order("a2", json!({ "output_box_id": output })).await;
    let reply = api.send_turn(&body).await;
    reply.expect_error(409, "output_box_in_use");
    assert_eq!(reply.json()["status"], "rejected");
    let second = api.dispatch_with("a1", json!({ "output_box_id": output })).await;
    let leased = &api.claim().await[0];
    assert_eq!(leased.turn, first.id);
    api.verb(leased, ":start", json!({})).await.expect(200);
    let thought = api.think(leased, "one").await;
    let done = api.finish(leased, "success").await;
    api.send_turn(&body).await.expect_error(409, "output_box_in_use");
    let leased = &api.claim().await[0];
    assert_eq!((&leased.turn, &leased.output), (&second.id, &output));
    api.verb(leased, ":start", json!({})).await.expect(200);
    let last = api.finish(leased, "success").await;
    api.send_turn(&body).await.expect(201);
    let shown = api.shown("p1", &output).await;
    let delivered = |done: &serde_json::Value| done["deliverable_card_id"].as_str().unwrap().to_owned();
    assert_eq!(shown, [thought, delivered(&done), delivered(&last)]);
}

/// CB-14, X-09: of two that ask at once, for writing a box and for giving it to somebody, one is refused.
async fn a_box_is_written_or_given_never_both(api: Api) {
    for round in 0..12 {
        let shared = api.context("x").await;
        let writes = api.order(&format!("writer-{round}"), json!({ "output_box_id": shared })).await;
        let reads = api.order(&format!("reader-{round}"), json!({ "context_box_id": shared })).await;
        let (one, other) = tokio::join!(api.send_turn(&writes), api.send_turn(&reads));
        let (accepted, refused) = if one.status == 201 { (one, other) } else { (other, one) };
        accepted.expect(201);
        let code = refused.code();
        assert!(matches!(code.as_str(), "output_box_in_use" | "output_box_sealed"), "{code}");
    }
}

/// WK-03, X-10: what was added or replaced in between is seen, or refused.
async fn what_a_box_held_before_a_turn_is_what_it_held_when_it_was_leased(api: Api) {
    for round in 0..12 {
        let output = api.context("before").await;
        let card = api.card("p1", "beside").await;
        let turn = api.order(&format!("a-{round}"), json!({ "output_box_id": output })).await;
        let path = format!("/projects/p1/l0/boxes/{output}:rewrite");
        let rewrite = json!({ "card_ids": [card, api.card("p1", "and this").await] });
        let (sent, replaced) = tokio::join!(api.send_turn(&turn), api.post(&path, rewrite));
        let turn = sent.expect(201)["agent_turn_id"].as_str().unwrap().to_owned();
        let expected = if replaced.status == 200 { 2 } else { 1 };
        if expected == 1 {
            replaced.expect_error(409, "output_box_in_use");
        }
        assert_eq!(api.shown("p1", &output).await.len(), expected);
        let item = api.turn(&turn).await;
        assert_eq!(item["watermark"], expected, "{item}");
    }
}

/// DP-05, W-02
async fn an_output_box_must_be_there_and_open(api: Api) {
    let sealed = api.dispatch("a1").await.context;
    let before = api.everything().await;
    for (output, status, code) in [(NOBODY, 404, "unknown_output_box"), (&sealed, 409, "output_box_sealed")] {
        let context = api.context("x").await;
        let more = json!({ "output_box_id": output, "context_box_id": context });
        let body = api.order("a2", more).await;
        api.send_turn(&body).await.expect_error(status, code);
    }
    let both = api.make_box("p1", &[]).await;
    let body = api.order("a2", json!({ "output_box_id": both, "context_box_id": both })).await;
    api.send_turn(&body).await.expect_error(409, "output_box_sealed");
    let after = api.everything().await;
    assert_eq!(after["inbox"], before["inbox"]);
    assert_eq!(after["edges"], before["edges"]);
}

/// CB-14: a context that still grows would be no snapshot.
async fn a_box_that_is_written_is_nobodys_context(api: Api) {
    let leased = api.running("a1").await;
    let body = api.order("a2", json!({ "context_box_id": leased.output })).await;
    api.send_turn(&body).await.expect_error(409, "output_box_in_use");
    api.finish(&leased, "success").await;
    api.send_turn(&body).await.expect(201);
}

/// CB-08
async fn boxes_of_another_project_are_not_found(api: Api) {
    let (elsewhere, profile) = (api.make_box("p2", &[]).await, api.profile("p2").await);
    for (more, code) in [
        (json!({ "context_box_id": elsewhere }), "context_box_not_found"),
        (json!({ "profile_box_id": profile }), "profile_box_not_found"),
        (json!({ "output_box_id": elsewhere }), "unknown_output_box"),
    ] {
        let body = api.order("a1", more).await;
        api.send_turn(&body).await.expect_error(404, code);
    }
    assert!(api.items("state/inbox").await.is_empty());
}
