//! Bad input: a 4xx that names the field, and nothing written (SEC-07, SEC-08, CB-20, API-06).

use crate::support::{Api, NOBODY, on_both, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};

on_both! {
    limits_hold_at_n_and_n_plus_one;
}

on_sqlite! {
    bad_cards_are_refused_and_leave_nothing;
    bad_ids_and_names_are_refused;
    malformed_requests_get_json_errors;
    f_15_a_page_of_a_list_has_at_least_one_entry;
    parameters_that_are_not_utf8_get_json_errors;
}

async fn count(api: &Api) -> (usize, usize, u64) {
    let p1 = "p1".parse().unwrap();
    let cards = api.store.scan_cards(&p1, None, 1_000).await.unwrap().len();
    let boxes = api.store.scan_boxes(&p1, None, 1_000).await.unwrap().len();
    api.store.number_events().await.unwrap();
    (cards, boxes, api.store.last_position(&p1).await.unwrap())
}

/// CB-02, CB-03, CB-04, CB-20, W-20, SEC-08
async fn bad_cards_are_refused_and_leave_nothing(api: Api) {
    let before = count(&api).await;
    let card = |content: &str| format!(r#"{{"content":{content},"metadata":{{"type":"x"}}}}"#);
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    for (body, field) in [
        (card(r#""a\u0000b""#), "content"),
        (card(r#"{"k\u0000":1}"#), "content"),
        (card(r#"{"a":{"k":1,"k":2}}"#), "content/a/k"),
        (card(r#"["\ud800"]"#), "content/0"),
        (card("[1,1e400]"), "content/1"),
        (card(r#"{"n":18446744073709551616}"#), "content/n"),
        (card("0.1234567890123456789"), "content"),
        (card(&deep), "content/0/0"),
        (card("null"), "content"),
        (r#"{"metadata":{"type":"x"}}"#.to_owned(), "content"),
        (r#"{"content":"x"}"#.to_owned(), "metadata"),
        (r#"{"content":"x","metadata":{}}"#.to_owned(), "metadata/type"),
        (r#"{"content":"x","metadata":[]}"#.to_owned(), "metadata"),
        (r#"{"content":"x","metadata":{"type":" "}}"#.to_owned(), "metadata/type"),
        (r#"{"content":"x","metadata":{"type":7}}"#.to_owned(), "metadata/type"),
        (r#"{"content":"x","metadata":{"type":"x","type":"y"}}"#.to_owned(), "metadata/type"),
        (r#"{"content":"x","metadata":{"type":"x","role":"boss"}}"#.to_owned(), "metadata/role"),
        (r#"{"content":"x","metadata":{"type":"x","role":null}}"#.to_owned(), "metadata/role"),
        (r#"{"content":"x","metadata":{"type":"x","author_id":""}}"#.to_owned(), "metadata/author_id"),
        (r#"{"content":"x","metadata":{"type":"x","k":"\u0000"}}"#.to_owned(), "metadata/k"),
        (r#"{"content":"x","meta":{"type":"x"}}"#.to_owned(), "meta"),
        (r#"{"content":"x","metadata":{"type":"x"},"content":"y"}"#.to_owned(), "content"),
        (r#"{"content":"x","metadata":{"type":"x"},"card_id":"zz"}"#.to_owned(), "card_id"),
        (r#"{"content":"x","metadata":{"type":"x"},"card_id":7}"#.to_owned(), "card_id"),
        (r#"{"content":"x","metadata":{"type":"x"},"tool_calls":{}}"#.to_owned(), "tool_calls"),
        (r#"{"content":"x","metadata":{"type":"x"},"tool_call_id":""}"#.to_owned(), "tool_call_id"),
        (r#"{"content":"x","metadata":{"type":"x"},"tool_call_id":"a\u0000"}"#.to_owned(), "tool_call_id"),
    ] {
        let reply = api.post_raw("/projects/p1/l0/cards", &body).await;
        reply.expect_error(400, "bad_request");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(field), "{body}: {message}");
    }
    assert_eq!(count(&api).await, before, "nothing was written");
}

/// SEC-07
async fn limits_hold_at_n_and_n_plus_one(api: Api) {
    let before = count(&api).await;
    // A card: a text is as long as it is, anything else as its canonical bytes, and tool calls count along.
    let long = |bytes: usize| "x".repeat(bytes);
    let text = |bytes: usize| json!({ "content": long(bytes), "metadata": { "type": "x" } });
    let list = |bytes: usize| json!({ "content": [long(bytes - 4)], "metadata": { "type": "x" } });
    let with_calls =
        |bytes: usize| json!({ "content": long(bytes - 4), "tool_calls": [{}], "metadata": { "type": "x" } });
    let cards: [&dyn Fn(usize) -> Value; 3] = [&text, &list, &with_calls];
    for card in cards {
        api.post("/projects/p1/l0/cards", card(limits::CARD_BYTES)).await.expect(201);
        api.post("/projects/p1/l0/cards", card(limits::CARD_BYTES + 1)).await.expect_error(413, "too_large");
    }
    let with_metadata = |bytes: usize| {
        let filler = "x".repeat(bytes - r#"{"k":"","type":"x"}"#.len());
        json!({ "content": "x", "metadata": { "type": "x", "k": filler } })
    };
    api.post("/projects/p1/l0/cards", with_metadata(limits::METADATA_BYTES)).await.expect(201);
    api.post("/projects/p1/l0/cards", with_metadata(limits::METADATA_BYTES + 1))
        .await
        .expect_error(413, "too_large");
    let body = |bytes: usize| {
        let text = r#"{"content":"x","metadata":{"type":"x"}}"#;
        format!("{text}{}", " ".repeat(bytes - text.len()))
    };
    api.post_raw("/projects/p1/l0/cards", &body(limits::BODY_BYTES)).await.expect(201);
    api.post_raw("/projects/p1/l0/cards", &body(limits::BODY_BYTES + 1)).await.expect_error(413, "too_large");
    let deep = |levels: usize| {
        format!(r#"{{"content":{}{},"metadata":{{"type":"x"}}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    api.post_raw("/projects/p1/l0/cards", &deep(64)).await.expect(201);
    api.post_raw("/projects/p1/l0/cards", &deep(65)).await.expect_error(400, "bad_request");
    let named = |kind: usize| json!({ "content": "x", "metadata": { "type": "k".repeat(kind) } });
    api.post("/projects/p1/l0/cards", named(128)).await.expect(201);
    api.post("/projects/p1/l0/cards", named(129)).await.expect_error(400, "bad_request");
    assert_eq!(count(&api).await.0, before.0 + 7);
    let many = json!({ "card_ids": vec![NOBODY; limits::WRITE_CARD_IDS + 1] });
    for path in ["l0/boxes", &format!("l0/boxes/{NOBODY}:rewrite"), &format!("l0/boxes/{NOBODY}/cards")] {
        let reply = api.post(&format!("/projects/p1/{path}"), many.clone()).await;
        reply.expect_error(413, "too_large");
        assert_eq!(reply.json()["error"]["detail"]["field"], "card_ids", "{path}");
    }
    api.post("/projects", json!({ "project_id": "p".repeat(128) })).await.expect(201);
    api.post("/projects", json!({ "project_id": "p".repeat(129) })).await.expect_error(400, "bad_request");
    api.post("/projects", json!({ "project_id": "t1", "title": "t".repeat(512) })).await.expect(201);
    api.post("/projects", json!({ "project_id": "t2", "title": "t".repeat(513) }))
        .await
        .expect_error(400, "bad_request");
}

/// SEC-08
async fn bad_ids_and_names_are_refused(api: Api) {
    for id in ["x", "turn_0192f0c123457abc8def0123456789ab", "%00", "0192f0c1%2f", "%F0%9F%98%80", "*", "%3E"]
    {
        api.get(&format!("/projects/p1/cards/{id}")).await.expect_error(400, "bad_request");
        api.get(&format!("/projects/p1/boxes/{id}")).await.expect_error(400, "bad_request");
        api.delete(&format!("/projects/p1/l0/cards/{id}")).await.expect_error(400, "bad_request");
    }
    for name in ["a.b", "*", "a%20b", "%00", "%2e%2e", &"a".repeat(129)] {
        api.get(&format!("/projects/{name}")).await.expect_error(400, "bad_request");
        api.get(&format!("/projects/{name}/cards/{NOBODY}")).await.expect_error(400, "bad_request");
    }
    for body in
        [json!({ "card_ids": ["x"] }), json!({ "card_ids": "x" }), json!({ "card_ids": [null] }), json!({})]
    {
        for path in ["/projects/p1/cards/batch", &format!("/projects/p1/l0/boxes/{NOBODY}/cards")] {
            let reply = api.post(path, body.clone()).await;
            reply.expect_error(400, "bad_request");
            assert!(
                reply.json()["error"]["message"].as_str().unwrap().contains("card_ids"),
                "{}",
                reply.json()
            );
        }
    }
}

/// API-06
async fn malformed_requests_get_json_errors(api: Api) {
    for body in ["", "{", "[]", "\"x\"", "{\"content\":}", "\u{feff}{}", "nope", "{}{}", "1"] {
        let reply = api.post_raw("/projects/p1/l0/cards", body).await;
        reply.expect_error(400, "bad_request");
        assert_eq!(reply.headers["content-type"], "application/json");
    }
    // Where no body is asked for, none that says something is passed over.
    for body in ["{", "[]", "5", "{\"zz\":1}"] {
        for path in [
            format!("/projects/p1/batches/batch_{NOBODY}:cancel"),
            "/projects/p1/state/agents/x:rebuild".to_owned(),
            "/admin/verify".to_owned(),
        ] {
            api.post_raw(&path, body).await.expect_error(400, "bad_request");
        }
    }
    let binary = api
        .request(
            "POST",
            "/projects/p1/l0/cards",
            &[("authorization", &format!("Bearer {}", api.admin))],
            vec![0xff_u8, 0xfe, 0x00],
        )
        .await;
    binary.expect_error(400, "bad_request");
    for path in ["/", "/nope", "/projects/p1/nope", "/projects//cards", "/projects/p1/boxes/"] {
        let reply = api.get(path).await;
        assert!(reply.status.is_client_error(), "{path}");
        reply.code();
    }
    for method in ["PUT", "PATCH", "OPTIONS", "TRACE"] {
        let reply = api.with(&api.admin, method, &format!("/projects/p1/cards/{NOBODY}"), "").await;
        reply.expect_error(405, "method_not_allowed");
        assert_eq!(reply.headers["allow"], "GET");
    }
    let body: Value = json!({ "title": 7 });
    let reply = api.with(&api.admin, "PATCH", "/projects/p1", &body.to_string()).await;
    reply.expect_error(400, "bad_request");
    assert_eq!(reply.json()["error"]["detail"]["field"], "title");
}

/// API-06, SEC-08
async fn parameters_that_are_not_utf8_get_json_errors(api: Api) {
    let bearer = format!("Bearer {}", api.admin);
    for (method, path, field) in [
        ("GET", "/projects/%ff", "project_id"),
        ("GET", "/projects/p1/cards/%ff", "card_id"),
        ("GET", "/projects/%ff/cards/%fe", "project_id"),
        ("POST", "/projects/%ff/l0/cards", "project_id"),
        ("POST", "/projects/p1/l0/turns/%ff:start", "agent_turn_id"),
    ] {
        let reply = api.request(method, path, &[("authorization", &bearer)], "{}").await;
        reply.expect_error(400, "bad_request");
        assert_eq!(reply.json()["error"]["detail"]["field"], field, "{path}");
        let nobody = api.request(method, path, &[], "{}").await;
        nobody.expect_error(401, "unauthenticated");
        for reply in [reply, nobody] {
            assert_eq!(reply.headers["content-type"], "application/json", "{path}");
        }
    }
    let reply = api.with(&api.admin, "PUT", "/projects/p1/cards/%ff", "").await;
    reply.expect_error(405, "method_not_allowed");
    assert_eq!(reply.headers["allow"], "GET");
}

/// F-15, API-08: a mistake in `limit` is refused like one in its name; API-03 alone clamps.
async fn f_15_a_page_of_a_list_has_at_least_one_entry(api: Api) {
    for list in [
        "/projects",
        "/runs",
        "/tokens",
        "/projects/p1/turns",
        "/projects/p1/questions",
        "/projects/p1/audit",
        "/projects/p1/state/agents",
        "/projects/p1/sessions",
        "/projects/p1/knowledge:search?query=x",
    ] {
        let mark = if list.contains('?') { '&' } else { '?' };
        for none in ["0", "-1", "-99999999999999999999"] {
            let reply = api.get(&format!("{list}{mark}limit={none}")).await;
            let error = reply.expect(400)["error"]["message"].as_str().unwrap().to_owned();
            assert!(error.starts_with("limit: must be from 1 to "), "{list}: {error}");
        }
        for some in ["1", "100000", "99999999999999999999"] {
            api.get(&format!("{list}{mark}limit={some}")).await.expect(200);
        }
    }
}
