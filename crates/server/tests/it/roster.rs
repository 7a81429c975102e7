//! Profiles and agents over HTTP (API-07, API-17, PM-02, PM-03).

use crate::support::{Api, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    a_profile_is_written_read_changed_and_deleted;
    a_changed_profile_leaves_the_old_box_as_it_was;
    bad_profiles_are_refused;
    an_agent_is_added_once_with_an_edge;
    what_an_agent_is_does_not_change;
    bad_agents_are_refused;
    the_roster_comes_in_pages;
}

async fn put(api: &Api, name: &str, body: &Value) -> crate::support::Reply {
    api.with(&api.admin, "PUT", &format!("/projects/p1/profiles/{name}"), &body.to_string()).await
}

/// API-07, CB-01
async fn a_profile_is_written_read_changed_and_deleted(api: Api) {
    let body = json!({
        "worker_target": "w1", "system_prompt": "Du bist 助手.", "tags": ["x"], "allowed_tools": ["look"],
        "allowed_internal_tools": ["delegate_async"], "must_end_with": ["submit_result"],
        "llm_config": { "model": "m", "temperature": 0.25, "seed": i64::MAX },
        "delegation_policy": { "target_profiles": null }, "description": "Helps.",
    });
    let made = put(&api, "Helper", &body).await.expect(201);
    for (name, value) in body.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(made["name"], "Helper");
    assert_eq!(api.get("/projects/p1/profiles/Helper").await.expect(200), made);
    let box_id = made["profile_box_id"].as_str().unwrap();
    let cards = api.get(&format!("/projects/p1/boxes/{box_id}/cards")).await.expect(200);
    assert_eq!((&cards[0]["type"], &cards[0]["role"]), (&json!("sys.profile"), &json!("system")));
    let mut content = body.clone();
    content["name"] = json!("Helper");
    assert_eq!(cards[0]["content"], content);
    assert_eq!(put(&api, "Helper", &body).await.expect(200), made, "the same again is nothing");
    let template = json!({ "name": "Helper", "worker_target": "w2", "system_prompt_template": "Other." });
    let changed = put(&api, "Helper", &template).await.expect(200);
    assert_eq!((&changed["system_prompt"], &changed["worker_target"]), (&json!("Other."), &json!("w2")));
    assert_eq!(changed["created_at"], made["created_at"]);
    api.delete("/projects/p1/profiles/Helper").await.expect(204);
    api.get("/projects/p1/profiles/Helper").await.expect_error(404, "not_found");
    api.delete("/projects/p1/profiles/Helper").await.expect_error(404, "not_found");
    assert!(api.items("profiles").await.is_empty());
    put(&api, "Helper", &body).await.expect(201);
}

/// CB-13: what a turn was given stays readable.
async fn a_changed_profile_leaves_the_old_box_as_it_was(api: Api) {
    let body = |prompt: &str| json!({ "worker_target": "w1", "system_prompt": prompt });
    let old = put(&api, "P", &body("old")).await.expect(201)["profile_box_id"].clone();
    let agent = json!({ "agent_id": "a1", "profile_name": "P" });
    assert_eq!(api.post("/projects/p1/agents", agent).await.expect(201)["profile_box_id"], old);
    let new = put(&api, "P", &body("new")).await.expect(200)["profile_box_id"].clone();
    assert_ne!(old, new);
    let path = format!("/projects/p1/boxes/{}/cards", old.as_str().unwrap());
    assert_eq!(api.get(&path).await.expect(200)[0]["content"]["system_prompt"], "old");
    assert_eq!(api.get("/projects/p1/agents/a1").await.expect(200)["profile_box_id"], old);
    let path = format!("/projects/p1/l0/boxes/{}/cards", old.as_str().unwrap());
    let card = api.card("p1", "x").await;
    api.post(&path, json!({ "card_ids": [card] })).await.expect_error(409, "box_sealed");
}

/// SEC-08
async fn bad_profiles_are_refused(api: Api) {
    let good = json!({ "worker_target": "w1", "system_prompt": "x" });
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (body, field) in [
        (json!({ "system_prompt": "x" }), "worker_target"),
        (json!({ "worker_target": "w1" }), "system_prompt"),
        (with("worker_target", json!("a.b")), "worker_target"),
        (with("worker_target", json!("")), "worker_target"),
        (with("name", json!("Other")), "name"),
        (with("tags", json!("x")), "tags"),
        (with("tags", json!([""])), "tags/0"),
        (with("llm_config", json!([])), "llm_config"),
        (with("llm_config", json!({ "base_url": "http://me:hunter2@x/" })), "llm_config/base_url"),
        (with("allowed_tools", json!({})), "allowed_tools"),
        (with("must_end_with", json!(7)), "must_end_with"),
        (with("profile_box_id", json!("x")), "profile_box_id"),
        (with("system_prompt_template", json!("y")), "system_prompt"),
    ] {
        let reply = put(&api, "P", &body).await;
        reply.expect_error(400, "bad_request");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(field), "{body}: {message}");
    }
    let nul = r#"{"worker_target":"w1","system_prompt":"a\u0000"}"#;
    let reply = api.with(&api.admin, "PUT", "/projects/p1/profiles/P", nul).await;
    reply.expect_error(400, "bad_request");
    put(&api, "a.b", &good).await.expect_error(400, "bad_request");
    let big = "x".repeat(cardwire_model::limits::CARD_BYTES);
    put(&api, "P", &with("description", json!(big))).await.expect_error(413, "too_large");
    assert!(api.items("profiles").await.is_empty());
}

/// PM-02
async fn an_agent_is_added_once_with_an_edge(api: Api) {
    api.profile("p1").await;
    let body = json!({
        "agent_id": "a1", "profile_name": "Helper", "display_name": "One", "tags": ["t"], "metadata": { "k": 1 },
    });
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let (within, by) = (format!("00-{trace}-00f067aa0ba902b7-01"), format!("Bearer {}", api.admin));
    let headers = [("traceparent", within.as_str()), ("authorization", by.as_str())];
    let made = api.request("POST", "/projects/p1/agents", &headers, body.to_string()).await.expect(201);
    let traced = api.items(&format!("state/identity/edges?trace={trace}")).await;
    assert_eq!((traced.len(), &traced[0]["target_agent_id"]), (1, &json!("a1")));
    for (name, value) in body.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(made["worker_target"], "w1");
    assert!(made["profile_box_id"].is_string() && made["created_at"].is_string());
    assert_eq!(api.post("/projects/p1/agents", body.clone()).await.expect(200), made);
    let edges = api.items("state/identity/edges?agent_id=a1").await;
    assert_eq!(edges.len(), 1, "nothing changed, no edge");
    assert_eq!((&edges[0]["action"], &edges[0]["target_agent_id"]), (&json!("provision"), &json!("a1")));
    assert_eq!(edges[0]["metadata"]["worker_target"], "w1");
    let mut renamed = body;
    renamed["display_name"] = json!("Two");
    assert_eq!(api.post("/projects/p1/agents", renamed).await.expect(200)["display_name"], "Two");
    let edges = api.items("state/identity/edges").await;
    assert_eq!(edges.len(), 2);
    assert_eq!(edges[0]["action"], "update", "newest first");
    assert_eq!(api.get("/projects/p1/agents/a1").await.expect(200)["display_name"], "Two");
}

/// PM-03
async fn what_an_agent_is_does_not_change(api: Api) {
    api.agent("a1").await;
    put(&api, "Other", &json!({ "worker_target": "w2", "system_prompt": "x" })).await.expect(201);
    for (more, what) in [
        (json!({ "profile_name": "Other" }), "profile"),
        (json!({ "profile_name": "Helper", "tags": ["new"] }), "tags"),
    ] {
        let mut body = json!({ "agent_id": "a1" });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let code = format!("existing_agent_{what}_mutation_forbidden");
        api.post("/projects/p1/agents", body).await.expect_error(409, &code);
    }
    let merged = json!({ "agent_id": "a1", "profile_name": "Helper", "metadata": { "a": 1 } });
    api.post("/projects/p1/agents", merged).await.expect(200);
    let merged = json!({ "agent_id": "a1", "profile_name": "Helper", "metadata": { "b": 2 } });
    let agent = api.post("/projects/p1/agents", merged).await.expect(200);
    assert_eq!(agent["metadata"], json!({ "a": 1, "b": 2 }));
}

/// SEC-08
async fn bad_agents_are_refused(api: Api) {
    api.profile("p1").await;
    let unknown = json!({ "agent_id": "a1", "profile_name": "Nope" });
    api.post("/projects/p1/agents", unknown).await.expect_error(404, "not_found");
    for (body, field) in [
        (json!({ "profile_name": "Helper" }), "agent_id"),
        (json!({ "agent_id": "a1" }), "profile_name"),
        (json!({ "agent_id": "a b", "profile_name": "Helper" }), "agent_id"),
        (json!({ "agent_id": "a1", "profile_name": "x.y" }), "profile_name"),
        (json!({ "agent_id": "a1", "profile_name": "Helper", "display_name": " " }), "display_name"),
        (json!({ "agent_id": "a1", "profile_name": "Helper", "tags": ["\u{0}"] }), "tags/0"),
        (json!({ "agent_id": "a1", "profile_name": "Helper", "metadata": [] }), "metadata"),
        (json!({ "agent_id": "a1", "profile_name": "Helper", "worker_target": "w" }), "worker_target"),
    ] {
        let reply = api.post("/projects/p1/agents", body.clone()).await;
        let answer = reply.expect(400);
        assert_eq!(answer["error"]["detail"]["field"], field, "{body}: {answer}");
    }
    assert!(api.items("agents").await.is_empty());
    api.get("/projects/p1/agents/a1").await.expect_error(404, "not_found");
}

async fn the_roster_comes_in_pages(api: Api) {
    for name in ["P1", "P2", "P3"] {
        put(&api, name, &json!({ "worker_target": "w1", "system_prompt": name })).await.expect(201);
        let body = json!({ "agent_id": format!("of-{name}"), "profile_name": name });
        api.post("/projects/p1/agents", body).await.expect(201);
    }
    api.delete("/projects/p1/profiles/P2").await.expect(204);
    for (list, id, expected) in
        [("profiles", "name", vec!["P1", "P3"]), ("agents", "agent_id", vec!["of-P1", "of-P2", "of-P3"])]
    {
        let (mut found, mut cursor) = (vec![], String::new());
        loop {
            let page = api.get(&format!("/projects/p1/{list}?limit=1{cursor}")).await.expect(200);
            found.extend(
                page["items"].as_array().unwrap().iter().map(|item| item[id].as_str().unwrap().to_owned()),
            );
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, expected, "{list}");
    }
    assert!(api.get("/projects/p2/agents").await.expect(200)["items"].as_array().unwrap().is_empty());
}
