//! What people write for good: every key of it is known, and no secret is in it (F-01), as JSON and as YAML.

use crate::support::{Api, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    a_key_that_nobody_reads_is_refused_with_what_was_meant;
    a_secret_is_refused_before_anything_is_stored;
    what_providers_understand_is_kept_and_sent;
}

const KEY: &str = "sk-abcdefghijklmnopqrstuvwxyz";

async fn put(api: &Api, path: &str, content_type: &str, body: &Value) -> crate::support::Reply {
    let bearer = format!("Bearer {}", api.admin);
    let headers = [("authorization", bearer.as_str()), ("content-type", content_type)];
    // JSON is YAML.
    api.request("PUT", &format!("/projects/p1/{path}"), &headers, body.to_string()).await
}

/// Each of these is refused in both forms with these words about this field, and nothing is written.
async fn refused(api: &Api, cases: &[(&str, Value, &str, &str)]) {
    let before = api.everything().await;
    for (path, body, field, words) in cases {
        for content_type in ["application/json", "application/yaml"] {
            let reply = put(api, path, content_type, body).await;
            reply.expect_error(400, "bad_request");
            let error = reply.json()["error"].clone();
            assert_eq!(error["detail"]["field"], *field, "{path} {body}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(words), "{path} {body}: {message}");
            assert!(!message.contains(KEY) && !message.contains("hunter2"), "{message}");
        }
    }
    assert_eq!(api.everything().await, before, "nothing was written");
}

fn team(more: Value) -> Value {
    let mut team =
        json!({ "process": "react", "agents": [{ "id": "a", "profile": { "system_prompt": "x" } }] });
    team.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    team
}

fn profile(more: Value) -> Value {
    let mut profile = json!({ "worker_target": "w1", "system_prompt": "x" });
    profile.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    profile
}

/// F-01
async fn a_key_that_nobody_reads_is_refused_with_what_was_meant(api: Api) {
    let member = |more: Value| {
        let mut agent = json!({ "id": "a", "profile": { "system_prompt": "x" } });
        for (name, value) in more.as_object().unwrap() {
            agent["profile"][name] = value.clone();
        }
        team(json!({ "agents": [agent] }))
    };
    let model = json!({ "provider": "openai", "model": "m", "baseurl": "http://x" });
    let base_url = "did you mean `base_url`?";
    refused(
        &api,
        &[
            ("teams/t", team(json!({ "model": model })), "model/baseurl", base_url),
            (
                "teams/t",
                team(
                    json!({ "agents": [{ "id": "a", "profile": { "system_prompt": "x" }, "model": model }] }),
                ),
                "agents/0/model/baseurl",
                base_url,
            ),
            (
                "teams/t",
                member(json!({ "llm_config": model })),
                "agents/0/profile/llm_config/baseurl",
                base_url,
            ),
            (
                "teams/t",
                team(json!({ "profiles": [{ "name": "p", "system_prompt": "x", "llm_config": model }] })),
                "profiles/0/llm_config/baseurl",
                base_url,
            ),
            (
                "teams/t",
                member(json!({ "alowed_tools": [] })),
                "agents/0/profile/alowed_tools",
                "did you mean `allowed_tools`?",
            ),
            (
                "teams/t",
                member(json!({ "builtin_tools": "some" })),
                "agents/0/profile/builtin_tools",
                "none, delegate, all",
            ),
            (
                "teams/t",
                team(json!({ "limits": { "max_step": 1 } })),
                "limits/max_step",
                "did you mean `max_steps`?",
            ),
            ("teams/t", team(json!({ "proces": "react" })), "proces", "did you mean `process`?"),
            (
                "teams/t",
                team(json!({ "mcp_servers": { "a": { "command": "x" } } })),
                "mcp_servers",
                "cardwire up --mcp FILE",
            ),
            (
                "profiles/p",
                profile(json!({ "llm_config": { "model": "m", "temprature": 1 } })),
                "llm_config/temprature",
                "did you mean `temperature`?",
            ),
            (
                "profiles/p",
                profile(json!({ "llm_config": { "model": "m", "colour": 1 } })),
                "llm_config/colour",
                "goes into `params`",
            ),
            (
                "profiles/p",
                profile(json!({ "sytem_prompt": "x" })),
                "sytem_prompt",
                "did you mean `system_prompt`?",
            ),
            ("profiles/p", profile(json!({ "builtin_tools": ["fork_join"] })), "builtin_tools", ""),
            (
                "profiles/p",
                profile(json!({ "allowed_tools": ["look", "*"] })),
                "allowed_tools/1",
                "can name no tool",
            ),
            ("tools/t", json!({ "descripton": "x" }), "descripton", "did you mean `description`?"),
            ("tools/t", json!({ "target": { "ulr": "https://x" } }), "target/ulr", "did you mean `url`?"),
            ("recipes/r", json!({ "handovr": {} }), "handovr", "did you mean `handover`?"),
        ],
    )
    .await;
}

/// F-01, SEC-09
async fn a_secret_is_refused_before_anything_is_stored(api: Api) {
    let where_to = "CARDWIRE_KEY_<NAME>";
    refused(
        &api,
        &[
            ("teams/t", team(json!({ "model": { "provider": "openai", "model": "m", "api_key": KEY } })), "model/api_key", where_to),
            ("teams/t", team(json!({ "model": { "provider": "openai", "model": "m", "api_key": "hunter2" } })), "model/api_key", where_to),
            ("teams/t", team(json!({ "model": { "provider": "openai", "model": "m", "key": KEY } })), "model/key", where_to),
            (
                "teams/t",
                team(json!({ "model": { "provider": "openai", "model": "m", "params": { "headers": { "Authorization": "Bearer hunter2" } } } })),
                "model/params/headers/Authorization",
                where_to,
            ),
            ("teams/t", team(json!({ "tools": [{ "name": "t", "target": { "url": "https://x", "token": KEY } }] })), "tools/0/target/token", where_to),
            ("profiles/p", profile(json!({ "llm_config": { "model": "m", "api_key": "hunter2" } })), "llm_config/api_key", where_to),
            ("profiles/p", profile(json!({ "system_prompt": format!("Use {KEY}.") })), "system_prompt", where_to),
            ("profiles/p", profile(json!({ "api_key": "hunter2" })), "api_key", where_to),
            ("tools/t", json!({ "metadata": { "password": "hunter2" } }), "metadata/password", where_to),
            ("recipes/r", json!({ "description": KEY, "handover": {} }), "description", where_to),
        ],
    )
    .await;
}

/// F-01: options that a provider understands, and one place for all others.
async fn what_providers_understand_is_kept_and_sent(api: Api) {
    let config = json!({ "model": "gpt-4o", "temperature": 0.25, "params": { "seed": 7, "anything": { "at": ["all"] } } });
    let made = put(&api, "profiles/Set", "application/json", &profile(json!({ "llm_config": config })))
        .await
        .expect(201);
    assert_eq!(made["llm_config"], config);
    let order = json!({
        "context_box_id": api.make_box("p1", &[api.card("p1", "do it").await]).await,
        "profile_box_id": made["profile_box_id"],
    });
    api.dispatch_with("a1", order).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    let call = api.verb(&leased, "/calls", json!({})).await.expect(201);
    let sent: Value = serde_json::from_str(call["request"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&sent["temperature"], &sent["seed"], &sent["anything"]),
        (&json!(0.25), &json!(7), &json!({ "at": ["all"] }))
    );
}
