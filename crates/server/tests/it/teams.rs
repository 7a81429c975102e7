//! Running a team: what is made ready, and what is refused (API-17). What the agents then do is the worker's part.

use crate::support::{Api, on_sqlite};
use cardwire_model::limits;
use serde_json::{Value, json};

on_sqlite! {
    a_run_makes_its_agents_ready_and_is_a_turn_of_its_controller;
    a_run_again_changes_nothing_that_is_as_it_should_be;
    agents_are_given_their_profiles_as_they_read_now;
    a_run_that_cannot_be_is_refused_by_field;
    sec_08_a_query_that_no_card_holds_is_refused_before_anything_is_written;
    w_13_a_run_that_is_refused_leaves_nothing;
    a_team_that_cannot_be_run_is_not_kept;
    api_16_whoever_waits_again_is_told_how_the_run_ended;
}

fn team() -> Value {
    json!({
        "process": "sequential",
        "model": { "provider": "scripted", "script": { "rules": [{ "reply": "x" }] } },
        "agents": [
            { "id": "one", "profile": { "system_prompt": "You are one." } },
            { "id": "two", "profile": { "name": "Second", "system_prompt": "You are two." } },
        ],
        "profiles": [{ "name": "Extra", "system_prompt": "You are more." }],
        "tools": [{ "name": "publish", "approval": "required" }],
    })
}

async fn put(api: &Api, team: &Value) {
    let path = "/projects/p1/teams/crew";
    assert!(api.with(&api.admin, "PUT", path, &team.to_string()).await.status.is_success());
}

async fn run(api: &Api, body: Value) -> Value {
    api.post("/projects/p1/teams/crew:run", body).await.expect(200)
}

async fn a_run_makes_its_agents_ready_and_is_a_turn_of_its_controller(api: Api) {
    put(&api, &team()).await;
    let started = run(&api, json!({ "query": "Why?", "session_id": "s" })).await;
    assert_eq!((&started["team"], &started["agent_id"]), (&json!("crew"), &json!("team_crew")));
    assert_eq!((&started["status"], &started["session_id"]), (&json!("dispatched"), &json!("s")));
    for (agent, profile) in [("one", "crew_one"), ("two", "Second"), ("team_crew", "team_crew")] {
        let agent = api.get(&format!("/projects/p1/agents/{agent}")).await.expect(200);
        assert_eq!((&agent["profile_name"], &agent["worker_target"]), (&json!(profile), &json!("cardwire")));
    }
    let profile = api.get("/projects/p1/profiles/crew_one").await.expect(200);
    assert_eq!(profile["llm_config"]["agent"], "one");
    assert_eq!(profile["llm_config"]["provider"], "scripted");
    assert_eq!(api.get("/projects/p1/profiles/Extra").await.expect(200)["llm_config"]["agent"], "Extra");
    assert_eq!(api.get("/projects/p1/tools/publish").await.expect(200)["approval"], "required");
    let claimed = api.claim_with(json!({ "worker_target": "cardwire", "start": true })).await.remove(0);
    assert_eq!(claimed.lease["agent_turn_id"], started["agent_turn_id"]);
    let settings = &claimed.lease["runtime_config"];
    assert_eq!((&settings["team"], &settings["session_id"]), (&json!("crew"), &json!("s")));
    let document = settings["team_card_id"].as_str().unwrap();
    let document = api.get(&format!("/projects/p1/cards/{document}")).await.expect(200);
    assert_eq!(document["content"]["name"], "crew");
    let context = claimed.lease["context_box_id"].as_str().unwrap();
    let cards = api.get(&format!("/projects/p1/boxes/{context}/cards")).await.expect(200);
    assert_eq!((&cards[0]["type"], &cards[0]["content"]), (&json!("task.instruction"), &json!("Why?")));
}

async fn a_run_again_changes_nothing_that_is_as_it_should_be(api: Api) {
    put(&api, &team()).await;
    run(&api, json!({ "query": "Why?" })).await;
    let audited =
        api.get("/projects/p1/audit?limit=500").await.expect(200)["items"].as_array().unwrap().len();
    let edges = api.items("state/identity/edges").await.len();
    let second = run(&api, json!({ "query": "And why?" })).await;
    assert_eq!(second["status"], "queued", "one run after the other");
    assert_eq!(api.items("state/identity/edges").await.len(), edges);
    let after = api.get("/projects/p1/audit?limit=500").await.expect(200)["items"].as_array().unwrap().len();
    assert_eq!(after, audited);
}

async fn agents_are_given_their_profiles_as_they_read_now(api: Api) {
    put(&api, &team()).await;
    run(&api, json!({ "query": "Why?" })).await;
    let profile_box = async || api.get("/projects/p1/agents/one").await.expect(200)["profile_box_id"].clone();
    let before = profile_box().await;
    let mut changed = team();
    changed["agents"][0]["profile"]["system_prompt"] = "You are another one.".into();
    put(&api, &changed).await;
    run(&api, json!({ "query": "Why?" })).await;
    assert_ne!(profile_box().await, before);
}

async fn a_run_that_cannot_be_is_refused_by_field(api: Api) {
    let refused = |body: Value| async {
        let reply = api.post("/projects/p1/teams/crew:run", body).await;
        reply.expect_error(400, "bad_request");
        reply.json()["error"]["detail"]["field"].clone()
    };
    api.post("/projects/p1/teams/crew:run", json!({ "query": "x" })).await.expect_error(404, "not_found");
    put(&api, &team()).await;
    assert_eq!(refused(json!({ "query": " " })).await, "query");
    assert_eq!(refused(json!({ "query": "x", "session_id": "a b" })).await, "session_id");
    assert_eq!(refused(json!({ "query": "x", "wait_ms": 0.5 })).await, "wait_ms");
    assert!(api.items("turns").await.is_empty() && api.items("agents").await.is_empty());
}

/// SEC-08, SEC-07
async fn sec_08_a_query_that_no_card_holds_is_refused_before_anything_is_written(api: Api) {
    put(&api, &team()).await;
    let path = "/projects/p1/teams/crew:run";
    let most = limits::CARD_BYTES;
    for (query, status, code) in [
        ("Why\0?".to_owned(), 400, "bad_request"),
        ("x".repeat(most + 1), 413, "too_large"),
        // As the card has it: a quote takes two bytes there.
        ("\"".repeat(most / 2 + 1), 413, "too_large"),
    ] {
        let reply = api.post(path, json!({ "query": query })).await;
        reply.expect_error(status, code);
        assert_eq!(reply.json()["error"]["detail"]["field"], "query", "{code}");
    }
    assert!(api.items("agents").await.is_empty() && api.items("profiles").await.is_empty());
    run(&api, json!({ "query": "x".repeat(most) })).await;
}

/// W-13: not even what comes before what is refused.
async fn w_13_a_run_that_is_refused_leaves_nothing(api: Api) {
    put(&api, &team()).await;
    let write = async |path: &str, body: Value| {
        let path = format!("/projects/p1/{path}");
        api.with(&api.admin, "PUT", &path, &body.to_string()).await.expect(201)
    };
    write("profiles/Other", json!({ "worker_target": "w", "system_prompt": "x" })).await;
    let two = json!({ "agent_id": "two", "profile_name": "Other" });
    api.post("/projects/p1/agents", two).await.expect(201);
    let all = async || {
        let mut all = vec![api.everything().await];
        for list in ["profiles", "agents", "tools", "state/identity/edges"] {
            all.push(api.items(list).await.into());
        }
        // They are sealed meanwhile.
        all.push(api.items("audit").await.len().into());
        all
    };
    let before = all().await;
    api.post("/projects/p1/teams/crew:run", json!({ "query": "Why?" }))
        .await
        .expect_error(409, "existing_agent_profile_mutation_forbidden");
    assert_eq!(all().await, before, "another has the id of the second member");
    let mut changed = team();
    changed["agents"][1]["id"] = "three".into();
    put(&api, &changed).await;
    let recipe = json!({ "handover": { "target_profile_config": { "profile_name": "Other" } } });
    write("recipes/publish", recipe).await;
    let before = all().await;
    api.post("/projects/p1/teams/crew:run", json!({ "query": "Why?" })).await.expect_error(409, "conflict");
    assert_eq!(all().await, before, "a recipe has the name of the tool");
}

/// SEC-08
async fn a_team_that_cannot_be_run_is_not_kept(api: Api) {
    let rule = |rule: Value| json!({ "provider": "scripted", "script": { "rules": [rule] } });
    for (pointer, value, field) in [
        ("/model", json!({ "provider": "zork" }), "model/provider"),
        ("/model", json!({ "model": "m" }), "model/provider"),
        ("/model", json!({ "provider": "openai" }), "model/model"),
        ("/model/script", json!({ "rulez": 1 }), "model/script/rulez"),
        ("/model", rule(json!({ "reply": "x", "replay": 1 })), "model/script/rules/0/replay"),
        (
            "/model",
            rule(json!({ "match": { "agnet": "a" }, "reply": "x" })),
            "model/script/rules/0/match/agnet",
        ),
        ("/agents/0/profile", json!({}), "agents/0/profile/system_prompt"),
        ("/agents/0", json!({ "id": "one" }), "agents/0/profile"),
        (
            "/agents/1",
            json!({ "id": "two", "profile": { "system_prompt": "x" }, "model": { "provider": "zork" } }),
            "agents/1/model/provider",
        ),
        ("/profiles/0", json!({ "name": "Extra" }), "profiles/0/system_prompt"),
        ("/tools/0", json!({ "name": "publish", "approval": "perhaps" }), "approval"),
    ] {
        let mut wrong = team();
        *wrong.pointer_mut(pointer).unwrap() = value;
        let reply = api.with(&api.admin, "PUT", "/projects/p1/teams/crew", &wrong.to_string()).await;
        reply.expect_error(400, "bad_request");
        assert_eq!(reply.json()["error"]["detail"]["field"], field, "{wrong}");
    }
    api.get("/projects/p1/teams/crew").await.expect_error(404, "not_found");
    // Keys are where the agents run.
    let mut remote = team();
    remote["model"] = json!({ "provider": "anthropic", "model": "m" });
    put(&api, &remote).await;
}

async fn api_16_whoever_waits_again_is_told_how_the_run_ended(api: Api) {
    put(&api, &team()).await;
    let (path, body) = ("/projects/p1/teams/crew:run", json!({ "query": "Why?", "wait_ms": 20_000 }));
    let end = async {
        let claim = json!({ "worker_target": "cardwire", "start": true, "wait_ms": 20_000 });
        api.finish(&api.claim_with(claim).await[0], "success").await;
    };
    let (first, ()) = tokio::join!(api.keyed(path, &body), end);
    let first = first.expect(200);
    assert_eq!(first["status"], "success");
    assert_eq!(api.keyed(path, &body).await.expect(200), first);
    assert_eq!(api.items("turns").await.len(), 1);
}
