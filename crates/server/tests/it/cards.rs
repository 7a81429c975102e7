//! Cards over HTTP.

use crate::support::{Api, NOBODY, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    projects_are_walls;
    a_deleted_card_is_gone_from_reads_but_not_from_boxes;
    content_is_byte_stable;
}

on_sqlite! {
    a_card_comes_back_as_it_was_written;
    the_same_id_holds_one_fact;
    roles_come_from_metadata_or_the_kind;
    standard_kinds_have_their_shape;
    a_card_expires;
    a_time_to_live_has_bounds;
    a_batch_keeps_the_order_and_names_what_is_missing;
    credentials_are_flagged_and_kept;
    there_is_no_generic_write_route;
}

/// CB-01, CB-02, SEC-10
async fn a_card_comes_back_as_it_was_written(api: Api) {
    let body = json!({
        "content": { "b": [1, { "x": null }], "a": "中文 😀" },
        "metadata": { "type": "tool.call.custom", "role": "assistant", "author_id": "agent_x", "k": { "z": 1 } },
        "tool_calls": [{ "id": "c1" }],
        "tool_call_id": "call-7",
        "ttl_seconds": 3600,
    });
    let written = api.post("/projects/p1/l0/cards", body.clone()).await.expect(201);
    let id = written["card_id"].as_str().unwrap();
    assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()), "{id}");
    let read = api.get(&format!("/projects/p1/cards/{id}")).await.expect(200);
    assert_eq!(read, written);
    for field in ["content", "metadata", "tool_calls", "tool_call_id", "ttl_seconds"] {
        assert_eq!(read[field], body[field], "{field}");
    }
    assert_eq!(read["type"], "tool.call.custom");
    assert_eq!(read["author_id"], "agent_x");
    assert_eq!(read["project_id"], "p1");
    assert_eq!(read["origin"], "operator");
    assert!(read["expires_at"].as_str().unwrap() > read["created_at"].as_str().unwrap());
}

/// CB-07, X-08, W-01
async fn the_same_id_holds_one_fact(api: Api) {
    let put = |text: &str, created_at: &str| json!({ "card_id": NOBODY, "content": text, "metadata": { "type": "x", "created_at": created_at } });
    let first = api.post("/projects/p1/l0/cards", put("x", "1")).await.expect(201);
    assert!(first.get("idempotent").is_none());
    let again = api.post("/projects/p1/l0/cards", put("x", "2")).await.expect(200);
    assert_eq!(again["idempotent"], true);
    assert_eq!(again["created_at"], first["created_at"]);
    api.post("/projects/p1/l0/cards", put("y", "1")).await.expect_error(409, "card_conflict");
    let mut other = put("x", "1");
    other["ttl_seconds"] = json!(60);
    api.post("/projects/p1/l0/cards", other).await.expect_error(409, "card_conflict");
    assert_eq!(api.get(&format!("/projects/p1/cards/{NOBODY}")).await.expect(200)["content"], "x");
    let hyphenated = "0192f0c1-2345-7abc-8def-0123456789AB";
    assert_eq!(api.get(&format!("/projects/p1/cards/{hyphenated}")).await.expect(200)["card_id"], NOBODY);
}

/// CB-08, CB-09
async fn projects_are_walls(api: Api) {
    let id = api.card("p1", "mine").await;
    api.get(&format!("/projects/p2/cards/{id}")).await.expect_error(404, "not_found");
    let batch = api.post("/projects/p2/cards/batch", json!({ "card_ids": [id] })).await.expect(200);
    assert_eq!(batch, json!({ "cards": [], "missing_ids": [id] }));
    api.post("/projects/p2/l0/boxes", json!({ "card_ids": [id] })).await.expect_error(404, "not_found");
    api.delete(&format!("/projects/p2/l0/cards/{id}")).await.expect_error(404, "not_found");
    let body = json!({ "card_id": id, "content": "theirs", "metadata": { "type": "x" } });
    api.post("/projects/p2/l0/cards", body).await.expect(201);
    assert_eq!(api.get(&format!("/projects/p1/cards/{id}")).await.expect(200)["content"], "mine");
}

/// CB-03, CB-05
async fn roles_come_from_metadata_or_the_kind(api: Api) {
    for (kind, role) in [
        ("task.instruction", "user"),
        ("agent.thought", "assistant"),
        ("task.deliverable", "assistant"),
        ("sys.profile", "system"),
        ("sys.rendered_prompt", "system"),
        ("meta.parent_pointer", "system"),
        ("agent.error", "system"),
        ("custom.x", "user"),
    ] {
        let body = json!({ "content": "x", "metadata": { "type": kind } });
        let card = api.post("/projects/p1/l0/cards", body).await.expect(201);
        assert_eq!(card["role"], role, "{kind}");
        assert!(card["metadata"].get("role").is_none(), "metadata is kept as it was given");
    }
    let body = json!({ "content": "x", "metadata": { "type": "agent.thought", "role": "user" } });
    assert_eq!(api.post("/projects/p1/l0/cards", body).await.expect(201)["role"], "user");
}

/// CB-06, X-06
async fn standard_kinds_have_their_shape(api: Api) {
    let put = async |kind: &str, content: Value| {
        api.post("/projects/p1/l0/cards", json!({ "content": content, "metadata": { "type": kind } })).await
    };
    for status in ["success", "failed", "canceled", "timeout", "partial"] {
        put("tool.result", json!({ "status": status, "result": [1] })).await.expect(201);
    }
    put("tool.call", json!({ "tool_name": "search", "arguments": {} })).await.expect(201);
    put("task.result_fields", json!([{ "name": "a", "description": "b", "extra": 1 }])).await.expect(201);
    put("sys.tools", json!({ "tools": [] })).await.expect(201);
    for (kind, content) in [
        ("tool.result", json!({ "status": "maybe" })),
        ("tool.result", json!({})),
        ("tool.result", json!("x")),
        ("tool.call", json!({ "tool_name": " " })),
        ("tool.call", json!([])),
        ("task.result_fields", json!("x")),
        ("task.result_fields", json!([{ "name": " ", "description": "b" }])),
        ("task.result_fields", json!([{ "name": "a" }])),
        ("task.result_fields", json!([{ "name": "a", "description": "b", "schema": "number" }])),
        ("sys.tools", json!({ "tools": 1 })),
    ] {
        put(kind, content).await.expect_error(400, "bad_request");
    }
}

/// CB-10
async fn a_deleted_card_is_gone_from_reads_but_not_from_boxes(api: Api) {
    let ids = api.cards("p1", 3).await;
    let box_id = api.make_box("p1", &ids).await;
    // Read once, so that what follows is not only true of a cold cache.
    api.get(&format!("/projects/p1/boxes/{box_id}/cards")).await.expect(200);
    api.kernel.box_cards(&"p1".parse().unwrap(), box_id.parse().unwrap()).await.unwrap();
    api.delete(&format!("/projects/p1/l0/cards/{}", ids[1])).await.expect(204);
    api.delete(&format!("/projects/p1/l0/cards/{}", ids[1])).await.expect_error(404, "not_found");
    assert_eq!(api.shown("p1", &box_id).await, ids);
    let cards = api.get(&format!("/projects/p1/boxes/{box_id}/cards")).await.expect(200);
    let read: Vec<_> =
        cards.as_array().unwrap().iter().map(|card| card["card_id"].as_str().unwrap()).collect();
    assert_eq!(read, [&ids[0], &ids[2]]);
    let hydrated = api.kernel.box_cards(&"p1".parse().unwrap(), box_id.parse().unwrap()).await.unwrap();
    assert_eq!(hydrated.cards.len(), 2);
    assert_eq!(hydrated.missing.len(), 1);
    let batch = api.post("/projects/p1/cards/batch", json!({ "card_ids": ids })).await.expect(200);
    assert_eq!(batch["missing_ids"], json!([ids[1]]));
    let path = "/projects/p1/cards/batch?include_deleted=true";
    let batch = api.post(path, json!({ "card_ids": ids })).await.expect(200);
    assert_eq!((&batch["missing_ids"], &batch["cards"][1]["card_id"]), (&json!([]), &json!(ids[1])));
    assert!(batch["cards"][1]["deleted_at"].is_string());
    api.get(&format!("/projects/p1/cards/{}", ids[1])).await.expect_error(404, "not_found");
    let deleted = api.get(&format!("/projects/p1/cards/{}?include_deleted=true", ids[1])).await.expect(200);
    assert!(deleted["deleted_at"].is_string());
    let all = api.get(&format!("/projects/p1/boxes/{box_id}/cards?include_deleted=true")).await.expect(200);
    assert_eq!(all.as_array().unwrap().len(), 3);
    api.post("/projects/p1/l0/boxes", json!({ "card_ids": [ids[1]] })).await.expect_error(404, "not_found");
}

/// CB-10: from the second it expires, cached or not.
async fn a_card_expires(api: Api) {
    let body = json!({ "content": "short", "metadata": { "type": "x" }, "ttl_seconds": 60 });
    let short =
        api.post("/projects/p1/l0/cards", body).await.expect(201)["card_id"].as_str().unwrap().to_owned();
    let ids = [api.card("p1", "long").await, short];
    let box_id = api.make_box("p1", &ids).await;
    let (project, parsed) = ("p1".parse().unwrap(), box_id.parse().unwrap());
    let cached = async || api.kernel.box_cards(&project, parsed).await.unwrap().cards.len();
    api.clock.advance(50);
    assert_eq!(cached().await, 2);
    api.get(&format!("/projects/p1/cards/{}", ids[1])).await.expect(200);
    api.clock.advance(10);
    assert_eq!(cached().await, 1);
    api.get(&format!("/projects/p1/cards/{}", ids[1])).await.expect_error(404, "not_found");
    let batch = api.post("/projects/p1/cards/batch", json!({ "card_ids": ids })).await.expect(200);
    assert_eq!(batch["missing_ids"], json!([ids[1]]));
    assert_eq!(api.shown("p1", &box_id).await, ids);
    api.get(&format!("/projects/p1/cards/{}?include_deleted=true", ids[1])).await.expect(200);
    api.post("/projects/p1/l0/boxes", json!({ "card_ids": [ids[1]] })).await.expect_error(404, "not_found");
}

/// SEC-07: the time to live is 1 second to 10 years.
async fn a_time_to_live_has_bounds(api: Api) {
    let put = async |ttl: Value| {
        let body = json!({ "content": "x", "metadata": { "type": "x" }, "ttl_seconds": ttl });
        api.post("/projects/p1/l0/cards", body).await
    };
    for good in [1, 315_360_000] {
        put(json!(good)).await.expect(201);
    }
    for bad in [json!(0), json!(315_360_001), json!(-1), json!(1.5), json!("60"), json!(true)] {
        put(bad).await.expect_error(400, "bad_request");
    }
}

/// CB-21, API-04
async fn a_batch_keeps_the_order_and_names_what_is_missing(api: Api) {
    let ids = api.cards("p1", 3).await;
    let asked = json!({ "card_ids": [ids[2], NOBODY, ids[0], ids[2], NOBODY, ids[1]] });
    let batch = api.post("/projects/p1/cards/batch", asked).await.expect(200);
    let read: Vec<_> =
        batch["cards"].as_array().unwrap().iter().map(|card| card["card_id"].as_str().unwrap()).collect();
    assert_eq!(read, [&ids[2], &ids[0], &ids[1]]);
    assert_eq!(batch["missing_ids"], json!([NOBODY]));
    let empty = api.post("/projects/p1/cards/batch", json!({ "card_ids": [] })).await.expect(200);
    assert_eq!(empty, json!({ "cards": [], "missing_ids": [] }));
    let many = |count: usize| (0..count).map(|n| format!("{n:032x}")).collect::<Vec<_>>();
    api.post("/projects/p1/cards/batch", json!({ "card_ids": many(100) })).await.expect(200);
    let mut repeated = many(100);
    repeated.extend(many(50));
    api.post("/projects/p1/cards/batch", json!({ "card_ids": repeated })).await.expect(200);
    api.post("/projects/p1/cards/batch", json!({ "card_ids": many(101) }))
        .await
        .expect_error(400, "bad_request");
}

/// CB-20
async fn content_is_byte_stable(api: Api) {
    let text = r#"{"content":{"z":9223372036854775807,"a":[1.0,1e2,0.1,-0,null],"中":"文😀\u0041"},"metadata":{"type":"x"}}"#;
    let reply = api.post_raw("/projects/p1/l0/cards", text).await;
    let card = reply.expect(201);
    let canonical = r#""content":{"a":[1,100,0.1,0,null],"z":9223372036854775807,"中":"文😀A"}"#;
    assert!(String::from_utf8_lossy(&reply.bytes).contains(canonical), "{card}");
    let content = canonical.strip_prefix("\"content\":").unwrap();
    assert_eq!(card["content_hash"], cardwire_model::Hash256::of(content.as_bytes()).to_string());
    let id = card["card_id"].as_str().unwrap();
    let read = api.get(&format!("/projects/p1/cards/{id}")).await;
    assert!(String::from_utf8_lossy(&read.bytes).contains(canonical));
    assert!(card["tokens"].as_u64().unwrap() > 0);
}

/// SEC-09
async fn credentials_are_flagged_and_kept(api: Api) {
    let secret = "my key is sk-abcdefghijklmnopqrstuvwxyz";
    let body = json!({ "content": secret, "metadata": { "type": "x" } });
    let card = api.post("/projects/p1/l0/cards", body).await.expect(201);
    assert_eq!(card["suspected_credential"], true);
    assert_eq!(card["content"], secret);
}

/// CB-19
async fn there_is_no_generic_write_route(api: Api) {
    let body = json!({ "content": "x", "metadata": { "type": "x" } });
    let status = api.post("/projects/p1/cards", body.clone()).await.status.as_u16();
    assert!(matches!(status, 404 | 405), "{status}");
    let worker = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    let reply = api.with(&worker, "POST", "/projects/p1/l0/cards", &body.to_string()).await;
    reply.expect_error(403, "forbidden");
}
