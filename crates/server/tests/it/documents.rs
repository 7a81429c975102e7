//! Tools, recipes, teams and the plan over HTTP, as JSON and as YAML (API-07).

use crate::support::{Api, Reply, on_both, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};
use std::collections::HashSet;

on_both! {
    two_who_take_a_name_at_once_do_not_both_get_it;
}

on_sqlite! {
    a_document_is_written_read_changed_and_deleted;
    documents_come_in_pages;
    a_tool_says_what_happens_after_it;
    there_is_one_plan;
    what_is_no_document_is_refused_by_name;
    a_tool_and_a_recipe_cannot_share_a_name;
    only_operators_write_resources;
    a_registered_tool_is_not_run_here;
    yaml_is_the_same_document;
    yaml_that_cannot_be_kept_is_refused_with_its_place;
}

const TEAM: &str = "process: sequential\nagents:\n  - id: writer\n    profile: {system_prompt: Write.}\n  - id: critic\n    profile: {system_prompt: Judge.}\n";

async fn put(api: &Api, path: &str, body: &Value) -> Reply {
    api.with(&api.admin, "PUT", &format!("/projects/p1/{path}"), &body.to_string()).await
}

async fn put_as(api: &Api, path: &str, content_type: &str, body: &str) -> Reply {
    let bearer = format!("Bearer {}", api.admin);
    let headers = [("authorization", bearer.as_str()), ("content-type", content_type)];
    api.request("PUT", &format!("/projects/p1/{path}"), &headers, body.to_owned()).await
}

async fn get(api: &Api, path: &str) -> Reply {
    api.get(&format!("/projects/p1/{path}")).await
}

fn recipe() -> Value {
    json!({ "handover": { "target_profile_config": { "profile_name": "Helper" } } })
}

fn team() -> Value {
    json!({
        "process": "sequential",
        "agents": [
            { "id": "writer", "profile": { "system_prompt": "Write." } },
            { "id": "critic", "profile": { "system_prompt": "Judge." } },
        ],
    })
}

fn team_with(member: &str, value: Value) -> Value {
    let mut team = team();
    team[member] = value;
    team
}

/// API-07
async fn a_document_is_written_read_changed_and_deleted(api: Api) {
    let tool = json!({
        "description": "Looks things up.",
        "parameters": { "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] },
        "target": { "url": "https://tools.example/look", "retries": 9_223_372_036_854_775_807_i64 },
        "metadata": { "owner": "search" },
    });
    let mut other = team();
    other["model"] = json!({ "provider": "scripted", "script": { "rules": [{ "reply": "x" }] } });
    other["limits"] = json!({ "max_steps": 4 });
    other["enable_share_context"] = json!(false);
    for (path, document, changed) in
        [("tools/look", tool, json!({ "description": "Looks." })), ("teams/authors", other, team())]
    {
        let made = put(&api, path, &document).await.expect(201);
        assert_eq!(made["name"], path.split('/').next_back().unwrap());
        for (name, value) in document.as_object().unwrap() {
            assert_eq!(made[name], *value, "{path}: {name}");
        }
        assert_eq!(put(&api, path, &document).await.expect(200), made, "the same text changes nothing");
        assert_eq!(get(&api, path).await.expect(200), made);
        let list = path.split('/').next().unwrap();
        assert_eq!(api.items(list).await, std::slice::from_ref(&made));
        let card = get(&api, &format!("cards/{}", made["card_id"].as_str().unwrap())).await.expect(200);
        assert_eq!(card["metadata"]["type"], format!("sys.{}", list.trim_end_matches('s')));

        let now = put(&api, path, &changed).await.expect(200);
        assert_ne!(now["card_id"], made["card_id"], "the old card can still be read");
        assert_eq!(now["created_at"], made["created_at"]);
        assert!(now.get("limits").is_none() && now.get("target").is_none(), "{now}");

        api.delete(&format!("/projects/p1/{path}")).await.expect(204);
        get(&api, path).await.expect_error(404, "not_found");
        api.delete(&format!("/projects/p1/{path}")).await.expect_error(404, "not_found");
        assert!(api.items(list).await.is_empty());
        put(&api, path, &changed).await.expect(201);
    }
    let audit = api.get("/projects/p1/audit?limit=500").await.expect(200);
    let written = audit["items"].as_array().unwrap().iter().filter(|row| row["action"] == "resource.write");
    assert_eq!(written.count(), 8, "made, changed, deleted and made again, of each");
}

async fn documents_come_in_pages(api: Api) {
    for name in ["t1", "t2", "t3"] {
        put(&api, &format!("tools/{name}"), &json!({})).await.expect(201);
        put(&api, &format!("recipes/r-{name}"), &recipe()).await.expect(201);
    }
    api.delete("/projects/p1/tools/t2").await.expect(204);
    let first = api.get("/projects/p1/tools?limit=1").await.expect(200);
    assert_eq!((&first["items"][0]["name"], &first["next_cursor"]), (&json!("t1"), &json!("t1")));
    let next = api.get("/projects/p1/tools?limit=1&cursor=t1").await.expect(200);
    assert_eq!(next["items"][0]["name"], "t3");
    assert!(api.get("/projects/p2/tools").await.expect(200)["items"].as_array().unwrap().is_empty());
}

async fn a_tool_says_what_happens_after_it(api: Api) {
    let plain = put(&api, "tools/plain", &json!({})).await.expect(201);
    assert_eq!((&plain["after_execution"], &plain["approval"]), (&json!("suspend"), &json!("none")));
    let last = json!({ "after_execution": "terminate", "approval": "required" });
    let last = put(&api, "tools/last", &last).await.expect(201);
    assert_eq!((&last["after_execution"], &last["approval"]), (&json!("terminate"), &json!("required")));
}

async fn there_is_one_plan(api: Api) {
    get(&api, "plan").await.expect_error(404, "not_found");
    let plan = json!({ "name": "ours", "card_id": "any", "steps": [{ "do": "it", "by": null }] });
    let made = put(&api, "plan", &plan).await.expect(201);
    assert_eq!(made["plan"], plan, "kept as it was given");
    assert_eq!(put(&api, "plan", &plan).await.expect(200), made);
    assert_eq!(get(&api, "plan").await.expect(200), made);
    assert_eq!(put(&api, "plan", &json!({})).await.expect(200)["plan"], json!({}));
    api.get("/projects/p2/plan").await.expect_error(404, "not_found");
    api.delete("/projects/p1/plan").await.expect(204);
    get(&api, "plan").await.expect_error(404, "not_found");
    for bad in [json!([]), json!("x"), json!(null)] {
        put(&api, "plan", &bad).await.expect_error(400, "bad_request");
    }
}

/// API-06, PM-20, SEC-08, F-39
async fn what_is_no_document_is_refused_by_name(api: Api) {
    let twice = json!({ "process": "react", "agents": [{ "id": "a" }, { "id": "a" }] });
    for (path, body, field) in [
        ("tools/x", json!({ "descripton": "x" }), "descripton"),
        ("tools/x", json!({ "after_execution": "resume" }), "after_execution"),
        ("tools/x", json!({ "parameters": { "type": "array" } }), "parameters/type"),
        ("tools/x", json!({ "target": "https://x" }), "target"),
        ("tools/x", json!({ "target": { "url": "file:///etc/passwd" } }), "target/url"),
        ("tools/x", json!({ "target": { "url": "http://me:hunter2@x/" } }), "target/url"),
        ("tools/x", json!({ "name": "y" }), "name"),
        ("tools/x", json!({ "name": 1 }), "name"),
        ("tools/x", json!([]), "body"),
        ("tools/a.b", json!({}), "tool_name"),
        ("tools/fork_join", json!({}), "name"),
        ("tools/Delegate_Async", json!({}), "name"),
        ("recipes/pack_context", recipe(), "name"),
        ("teams/x", json!({}), "process"),
        ("teams/x", json!({ "process": "chaotic", "agents": [{ "id": "a" }] }), "process"),
        ("teams/x", json!({ "process": "react", "agents": [] }), "agents"),
        ("teams/x", twice, "agents/1/id"),
        ("teams/x", json!({ "process": "react", "agents": [{ "id": "a" }], "proces": 1 }), "proces"),
        (
            "teams/x",
            team_with("model", json!({ "provider": "openai", "model": "m", "base_url": "file:///x" })),
            "model/base_url",
        ),
        (
            "teams/x",
            team_with("tools", json!([{ "name": "t", "target": { "url": "gopher://x" } }])),
            "target/url",
        ),
    ] {
        let reply = put(&api, path, &body).await;
        reply.expect_error(400, "bad_request");
        assert_eq!(reply.json()["error"]["detail"]["field"], field, "{path} {body}: {}", reply.json());
    }
    let nul = r#"{"description":"a\u0000"}"#;
    put_as(&api, "tools/x", "application/json", nul).await.expect_error(400, "bad_request");
    let twice = put_as(&api, "tools/x", "application/json", r#"{"target":{"a":1,"a":2}}"#).await;
    twice.expect_error(400, "bad_request");
    assert_eq!(twice.json()["error"]["detail"]["field"], "target/a");
    let big = json!({ "description": "x".repeat(limits::CARD_BYTES) });
    put(&api, "tools/x", &big).await.expect_error(413, "too_large");
    put(&api, "plan", &big).await.expect_error(413, "too_large");
    for list in ["tools", "recipes", "teams"] {
        assert!(api.items(list).await.is_empty(), "{list}");
    }
}

async fn a_tool_and_a_recipe_cannot_share_a_name(api: Api) {
    put(&api, "tools/x", &json!({})).await.expect(201);
    put(&api, "recipes/x", &recipe()).await.expect_error(409, "conflict");
    get(&api, "recipes/x").await.expect_error(404, "not_found");
    assert!(api.items("recipes").await.is_empty());
    put(&api, "teams/x", &team()).await.expect(201);
    api.delete("/projects/p1/tools/x").await.expect(204);
    put(&api, "recipes/x", &recipe()).await.expect(201);
    put(&api, "tools/x", &json!({})).await.expect_error(409, "conflict");
    api.with(&api.admin, "PUT", "/projects/p2/tools/x", "{}").await.expect(201);
}

/// Whatever the order of their reads and writes.
async fn two_who_take_a_name_at_once_do_not_both_get_it(api: Api) {
    for round in 0..12 {
        let (tool, recipe) = (format!("tools/n{round}"), format!("recipes/n{round}"));
        let (empty, body) = (json!({}), self::recipe());
        let (one, two) = tokio::join!(put(&api, &tool, &empty), put(&api, &recipe, &body));
        let statuses: HashSet<u16> = [one.status.as_u16(), two.status.as_u16()].into();
        assert_eq!(statuses, [201, 409].into(), "round {round}");
    }
    assert_eq!(api.items("tools").await.len() + api.items("recipes").await.len(), 12);
}

/// PM-01: neither a worker's token nor a turn's.
async fn only_operators_write_resources(api: Api) {
    let leased = api.running("a1").await;
    let worker = api.token(json!({ "project_id": "p1", "scopes": ["work"] })).await;
    let operator = api.token(json!({ "project_id": "p1", "scopes": ["operate"] })).await;
    let profile = json!({ "worker_target": "w1", "system_prompt": "x" });
    for (method, path, body) in [
        ("PUT", "tools/t", json!({})),
        ("PUT", "recipes/r", recipe()),
        ("PUT", "teams/t", team()),
        ("PUT", "plan", json!({})),
        ("PUT", "profiles/P", profile),
        ("POST", "agents", json!({ "agent_id": "a2", "profile_name": "P" })),
        ("DELETE", "tools/t", Value::Null),
        ("DELETE", "recipes/r", Value::Null),
        ("DELETE", "teams/t", Value::Null),
        ("DELETE", "plan", Value::Null),
        ("DELETE", "profiles/P", Value::Null),
    ] {
        let path = format!("/projects/p1/{path}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        for token in [&worker, &leased.token] {
            api.with(token, method, &path, &body).await.expect_error(403, "forbidden");
        }
        let reply = api.with(&operator, method, &path, &body).await;
        assert!(reply.status.is_success(), "{method} {path}: {}", reply.json());
    }
    for path in ["tools", "recipes", "teams", "profiles"] {
        let path = format!("/projects/p1/{path}");
        api.with(&leased.token, "GET", &path, "").await.expect_error(403, "forbidden");
        api.with(&worker, "GET", &path, "").await.expect(200);
    }
}

/// PM-15, PM-16, PM-20
async fn a_registered_tool_is_not_run_here(api: Api) {
    api.agent("boss").await;
    put(&api, "tools/look", &json!({ "target": { "url": "https://x" } })).await.expect(201);
    let call = async |tool: &str, query: &str| {
        let body = json!({ "caller_agent_id": "boss", "args": { "q": "x" } });
        api.post(&format!("/projects/p1/pmo/{tool}:call{query}"), body).await
    };
    let reply = call("look", "").await;
    reply.expect_error(400, "not_implemented");
    let error = &reply.json()["error"];
    assert_eq!(error["detail"]["field"], "tool");
    assert!(error["message"].as_str().unwrap().contains("look is not run here"), "{error}");
    let answer =
        get(&api, &format!("cards/{}", error["detail"]["tool_result_card_id"].as_str().unwrap())).await;
    assert_eq!(answer.expect(200)["content"]["error"]["code"], "not_implemented");
    call("look", "?dry_run=true").await.expect_error(400, "not_implemented");
    for unknown in ["nothing", "authors", "plan"] {
        call(unknown, "").await.expect_error(404, "tool_definition_missing");
    }
    api.delete("/projects/p1/tools/look").await.expect(204);
    call("look", "").await.expect_error(404, "tool_definition_missing");
}

/// API-07
async fn yaml_is_the_same_document(api: Api) {
    let profile = "# who helps\nworker_target: w1\nsystem_prompt: |\n  Help.\n  Briefly.\ntags: [a, b]\n";
    let recipe_text = "handover:\n  target_profile_config: {profile_name: Helper}\ndescription: 'yes'\n";
    let mut described = recipe();
    described["description"] = json!("yes");
    let help = json!({ "worker_target": "w1", "system_prompt": "Help.\nBriefly.\n", "tags": ["a", "b"] });
    for (path, text, same) in [
        ("profiles/Helper", profile, help),
        (
            "tools/look",
            "description: on\ntarget: {port: 0x1f90}\n",
            json!({ "description": "on", "target": { "port": 8080 } }),
        ),
        ("recipes/review", recipe_text, described),
        ("teams/authors", TEAM, team()),
        (
            "plan",
            "goal: &g ship it\nagain: *g\nat: 1e3\n",
            json!({ "goal": "ship it", "again": "ship it", "at": 1000 }),
        ),
    ] {
        let made = put_as(&api, path, "application/yaml", text).await.expect(201);
        for content_type in [
            "application/x-yaml",
            "text/yaml; charset=utf-8",
            "text/x-yaml",
            "Application/YAML",
            "application/vnd.cardwire+yaml",
        ] {
            assert_eq!(put_as(&api, path, content_type, text).await.expect(200), made, "{path}");
        }
        assert_eq!(put(&api, path, &same).await.expect(200), made, "{path}: it is the same card");
        assert_eq!(get(&api, path).await.expect(200), made, "answers are JSON");
    }
    let empty = put_as(&api, "tools/empty", "application/yaml", "# nothing to say\n").await.expect(201);
    assert_eq!(empty["after_execution"], "suspend");
    // Without its content type it is not read as YAML, nor where a body is not for people to write.
    put_as(&api, "teams/authors", "application/json", TEAM).await.expect_error(400, "bad_request");
    let bearer = format!("Bearer {}", api.admin);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/yaml")];
    let reply =
        api.request("POST", "/projects/p1/agents", &headers, "agent_id: a\nprofile_name: Helper\n").await;
    reply.expect_error(400, "bad_request");

    let document = api.get("/openapi.json").await.expect(200);
    let body =
        &document["paths"]["/projects/{project_id}/teams/{team_name}"]["put"]["requestBody"]["content"];
    let types: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(types, ["application/json", "application/yaml"]);
    assert_eq!(body["application/yaml"], body["application/json"]);
}

/// API-06, SEC-07, SEC-08
async fn yaml_that_cannot_be_kept_is_refused_with_its_place(api: Api) {
    let deep = format!("target: {}{}", "[".repeat(limits::JSON_DEPTH), "]".repeat(limits::JSON_DEPTH));
    for (text, field, words) in [
        ("description: [", "description/0", "line "),
        ("description: 'x", "description", "line "),
        ("\u{0}", "body", "line "),
        ("- a\n", "body", "must be an object"),
        ("just a text", "body", "must be an object"),
        ("descripton: x\n", "descripton", "is not known"),
        ("description: 1\n", "description", "must be a string"),
        ("description: a\ntarget: {b: 1}\ndescription: c\n", "description", "line 3: duplicate key"),
        ("target:\n  - &t {x: 1}\n  - <<: *t\n", "target/1", "merge keys"),
        ("target: !Ref x\n", "target", "tags"),
        ("target: &t [*t]\n", "target/0", "refers to itself"),
        ("a: 1\n---\nb: 2\n", "body", "one document"),
        ("target: {n: 123456789012345678901234567890}\n", "target/n", ""),
        (&deep, "target", "nested deeper than 64"),
    ] {
        let reply = put_as(&api, "tools/x", "application/yaml", text).await;
        reply.expect_error(400, "bad_request");
        let error = reply.json()["error"].clone();
        let found = error["detail"]["field"].as_str().unwrap();
        assert!(found.starts_with(field), "{text}: {error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{text}: {error}");
    }
    let bad_profile = put_as(&api, "profiles/P", "text/yaml", "worker_target: w1\nsystem_promt: x\n").await;
    bad_profile.expect_error(400, "bad_request");
    assert!(bad_profile.json()["error"]["message"].as_str().unwrap().contains("system_promt"));

    let mut bomb = "target:\n  a0: &a0 lol\n".to_owned();
    for n in 1..30 {
        let list = format!("*a{}, ", n - 1).repeat(9);
        bomb.push_str(&format!("  a{n}: &a{n} [{list}]\n"));
    }
    put_as(&api, "tools/x", "application/yaml", &bomb).await.expect_error(413, "too_large");
    let long = format!("description: {}\n", "x".repeat(limits::CARD_BYTES));
    put_as(&api, "tools/x", "application/yaml", &long).await.expect_error(413, "too_large");
    let huge = "#".repeat(limits::BODY_BYTES + 1);
    put_as(&api, "tools/x", "application/yaml", &huge).await.expect_error(413, "too_large");
    let bearer = format!("Bearer {}", api.admin);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/yaml")];
    let latin = api.request("PUT", "/projects/p1/tools/x", &headers, b"description: \xe9\n".to_vec()).await;
    latin.expect_error(400, "bad_request");
    assert!(api.items("tools").await.is_empty() && api.items("profiles").await.is_empty());
}
