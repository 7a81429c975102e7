//! Projects over HTTP (API-07) and lists (API-17).

use crate::support::{Api, on_sqlite};
use serde_json::json;

on_sqlite! {
    a_project_is_made_changed_and_deleted;
    lists_come_in_pages;
    changes_are_audited_and_sealed;
}

async fn a_project_is_made_changed_and_deleted(api: Api) {
    let made = api
        .post(
            "/projects",
            json!({ "project_id": "new", "title": "一", "settings": { "acl": { "inherit": "audit" } } }),
        )
        .await
        .expect(201);
    assert_eq!(made["settings"]["acl"]["inherit"], "audit");
    assert_eq!(api.get("/projects/new").await.expect(200), made);
    assert_eq!(api.get("/projects/p1").await.expect(200)["settings"]["acl"]["inherit"], "enforce");
    api.post("/projects", json!({ "project_id": "new" })).await.expect_error(409, "conflict");
    let patch = async |body: serde_json::Value| {
        api.with(&api.admin, "PATCH", "/projects/new", &body.to_string()).await
    };
    let changed = patch(json!({ "settings": { "acl": { "inherit": "enforce" } } })).await.expect(200);
    assert_eq!((&changed["title"], &changed["revision"]), (&json!("一"), &json!(2)));
    let untitled = patch(json!({ "title": null })).await.expect(200);
    assert_eq!(untitled["title"], json!(null));
    for bad in [
        json!({ "settings": { "acl": { "inherit": "x" } } }),
        json!({ "settings": { "nope": 1 } }),
        json!({ "settings": { "workspace_root": "/etc" } }),
        json!({ "project_id": "other" }),
    ] {
        patch(bad).await.expect_error(400, "bad_request");
    }
    // API-06: a list is no object, however short.
    for (settings, field) in [
        (json!([]), "settings"),
        (json!([["audit"]]), "settings"),
        (json!({ "acl": ["audit"] }), "settings/acl"),
        (json!({ "context": { "knowledge": [] } }), "settings/context/knowledge"),
    ] {
        let made = api.post("/projects", json!({ "project_id": "list", "settings": settings })).await;
        for reply in [made, patch(json!({ "settings": settings })).await] {
            reply.expect_error(400, "bad_request");
            assert_eq!(reply.json()["error"]["detail"]["field"], field, "{settings}");
        }
    }
    // With the place where they stand, one level more than JSON may have.
    let deep = (1..cardwire_model::limits::JSON_DEPTH).fold(json!({}), |value, _| json!({ "x": value }));
    let reply = patch(json!({ "settings": deep })).await;
    assert_eq!(reply.expect(400)["error"]["detail"]["field"], "settings");
    assert_eq!(api.get("/projects/new").await.expect(200)["settings"]["acl"]["inherit"], "enforce");
    api.get("/projects/list").await.expect_error(404, "not_found");
    assert_eq!(api.get("/projects/new").await.expect(200)["revision"], 3);
    api.delete("/projects/new").await.expect(204);
    api.get("/projects/new").await.expect_error(404, "not_found");
}

async fn lists_come_in_pages(api: Api) {
    for n in 0..5 {
        api.post("/projects", json!({ "project_id": format!("q{n}") })).await.expect(201);
    }
    api.delete("/projects/q2").await.expect(204);
    let (mut names, mut cursor) = (vec![], String::new());
    loop {
        let page = api.get(&format!("/projects?limit=2{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        names.extend(items.iter().map(|item| item["project_id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["p1", "p2", "q0", "q1", "q3", "q4"]);
    api.get("/projects?limit=x").await.expect_error(400, "bad_request");
    api.get("/projects?cursor=%20").await.expect_error(400, "bad_request");
}

/// SEC-05
async fn changes_are_audited_and_sealed(api: Api) {
    let card = api.card("p1", "x").await;
    let box_id = api.make_box("p1", std::slice::from_ref(&card)).await;
    api.post(&format!("/projects/p1/l0/boxes/{box_id}:rewrite"), json!({ "card_ids": [] })).await.expect(200);
    api.delete(&format!("/projects/p1/l0/cards/{card}")).await.expect(204);
    api.kernel.seal_audit().await.unwrap();
    let rows = api.get("/projects/p1/audit").await.expect(200);
    let actions: Vec<_> =
        rows["items"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["card.delete", "box.rewrite", "project.create"], "newest first");
    let report = api.post("/admin/verify", json!({})).await.expect(200);
    assert_eq!(report["ok"], true);
    let p1 = report["realms"].as_array().unwrap().iter().find(|realm| realm["project_id"] == "p1").unwrap();
    assert_eq!((&p1["cards"], &p1["sealed"], &p1["unsealed"]), (&json!(1), &json!(3), &json!(0)));
}
