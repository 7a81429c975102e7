//! Tokens, hosts, rates.

use crate::support::{Api, Backend, on_both, on_sqlite};
use cardwire_kernel::{ContextConfig, store::RowFilter};
use cardwire_model::{AuditAction, Realm, TokenId, TokenSecret};
use serde_json::json;

on_both! {
    a_token_is_shown_once_and_can_be_revoked;
    two_servers_that_start_with_one_admin_token_both_take_it;
    the_last_admin_token_is_not_revoked;
}

on_sqlite! {
    a_project_admin_gives_only_what_it_has;
    bad_tokens_are_refused_with_the_field;
    foreign_hosts_and_origins_are_refused;
    the_servers_own_token_is_not_revoked_over_the_api;
    workers_inside_need_no_token_that_could_be_revoked;
    a_token_of_a_data_directory_that_ended_or_opens_less_is_told_from_an_unknown_one;
}

/// SEC-02, SEC-05
async fn a_token_is_shown_once_and_can_be_revoked(api: Api) {
    let made = api
        .post("/tokens", json!({ "scopes": ["read", "read"], "expires_in_seconds": 60 }))
        .await
        .expect(201);
    let (id, secret) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert!(secret.starts_with("cw_") && secret.len() == 67);
    assert_eq!(made["scopes"], json!(["read"]));
    let listed = api.get("/tokens").await;
    assert!(!String::from_utf8_lossy(&listed.bytes).contains(secret));
    assert!(String::from_utf8_lossy(&listed.bytes).contains(id));
    api.with(secret, "GET", "/projects/p1", "").await.expect(200);
    let short = api.token(json!({ "scopes": ["read"], "expires_in_seconds": 30 })).await;
    api.with(&short, "GET", "/projects/p1", "").await.expect(200);
    api.clock.advance(30);
    api.with(&short, "GET", "/projects/p1", "").await.expect_error(401, "unauthenticated");
    api.with(secret, "GET", "/projects/p1", "").await.expect(200);
    api.delete(&format!("/tokens/{id}")).await.expect(204);
    api.with(secret, "GET", "/projects/p1", "").await.expect_error(401, "unauthenticated");
    api.delete(&format!("/tokens/{id}")).await.expect_error(404, "not_found");
}

/// The tokens for all projects, by id.
async fn global_tokens(api: &Api) -> Vec<String> {
    let list = api.get("/tokens").await.expect(200);
    let items = list["items"].as_array().unwrap().iter();
    items.filter(|t| t["project_id"].is_null()).map(|t| t["id"].as_str().unwrap().to_owned()).collect()
}

/// F-42, SEC-02
async fn the_servers_own_token_is_not_revoked_over_the_api(api: Api) {
    let own = format!("/tokens/{}", global_tokens(&api).await[0]);
    let refused = api.delete(&own).await;
    refused.expect_error(409, "conflict");
    let told = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(told.contains("admin.token") && told.contains("stop the server"), "{told}");
    // Nor by anybody else.
    let other = api.token(json!({ "scopes": ["admin"] })).await;
    api.with(&other, "DELETE", &own, "").await.expect_error(409, "conflict");
    let bound = api.token(json!({ "project_id": "p1", "scopes": ["admin"] })).await;
    api.with(&bound, "DELETE", &own, "").await.expect_error(404, "not_found");
    api.get("/projects").await.expect(200);
    let audit = api.kernel.list_audit(&Realm::System, &RowFilter::default(), None, 50).await.unwrap();
    assert!(audit.iter().all(|row| row.audit.action != AuditAction::TokenRevoke), "nothing is written");
}

/// F-42: a process that has no token of its own, as a command with `CARDWIRE_TOKEN`.
async fn the_last_admin_token_is_not_revoked(api: Api) {
    let again = api.again(ContextConfig::default());
    let first = format!("/tokens/{}", global_tokens(&api).await[0]);
    // Of these none makes tokens for all projects when the first is gone.
    api.token(json!({ "project_id": "p1", "scopes": ["admin"] })).await;
    api.token(json!({ "scopes": ["operate"] })).await;
    api.token(json!({ "scopes": ["admin"], "expires_in_seconds": 5 })).await;
    api.clock.advance(5);
    let refused = again.delete(&first).await;
    refused.expect_error(409, "conflict");
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("make another one first"));
    let next = again.post("/tokens", json!({ "scopes": ["admin"] })).await.expect(201);
    let secret = next["token"].as_str().unwrap();
    again.with(secret, "DELETE", &first, "").await.expect(204);
    let told = again.get("/projects").await;
    told.expect_error(401, "unauthenticated");
    assert!(told.json()["error"]["message"].as_str().unwrap().contains("revoked"));
    let last = format!("/tokens/{}", next["id"].as_str().unwrap());
    again.with(secret, "DELETE", &last, "").await.expect_error(409, "conflict");
    again.with(secret, "GET", "/projects", "").await.expect(200);
}

/// F-42
async fn workers_inside_need_no_token_that_could_be_revoked(api: Api) {
    let worker = api.kernel.worker_secret();
    let claim = json!({ "worker_target": "w", "worker_id": "w", "max_turns": 1, "wait_ms": 0 }).to_string();
    api.with(worker.expose(), "POST", "/l0/claim", &claim).await.expect(200);
    let card = json!({ "content": "x", "metadata": { "type": "task.instruction" } }).to_string();
    api.with(worker.expose(), "POST", "/projects/p1/l0/cards", &card).await.expect(201);
    // It is nobody's to see, to end, or to manage with.
    assert_eq!(global_tokens(&api).await.len(), 1);
    api.delete(&format!("/tokens/{}", TokenId::WORKERS)).await.expect_error(404, "not_found");
    for (method, path, body) in
        [("POST", "/tokens", r#"{"scopes":["read"]}"#), ("POST", "/projects", r#"{"project_id":"x"}"#)]
    {
        api.with(worker.expose(), method, path, body).await.expect_error(403, "forbidden");
    }
    // Another process on the same store does not know it.
    let again = api.again(ContextConfig::default());
    again.with(worker.expose(), "POST", "/l0/claim", &claim).await.expect_error(401, "unauthenticated");
}

/// F-42: a restart finds out what became of its token, instead of fighting for its row.
async fn a_token_of_a_data_directory_that_ended_or_opens_less_is_told_from_an_unknown_one(api: Api) {
    let restart = async |secret: &str| {
        let again = api.again(ContextConfig::default());
        again.kernel.ensure_admin(Some(TokenSecret::from_text(secret).unwrap())).await.map(drop)
    };
    let next = api.post("/tokens", json!({ "scopes": ["admin"] })).await.expect(201);
    let secret = next["token"].as_str().unwrap();
    restart(secret).await.unwrap();
    api.delete(&format!("/tokens/{}", next["id"].as_str().unwrap())).await.expect(204);
    assert_eq!(restart(secret).await.unwrap_err().to_string(), "the token was revoked");
    let short = api.token(json!({ "scopes": ["admin"], "expires_in_seconds": 5 })).await;
    let narrow = api.token(json!({ "project_id": "p1", "scopes": ["admin"] })).await;
    let told = restart(&narrow).await.unwrap_err().to_string();
    assert!(told.contains("is not an admin token for all projects"), "{told}");
    api.clock.advance(5);
    assert_eq!(restart(&short).await.unwrap_err().to_string(), "the token has expired");
    restart(&format!("cw_{}", "0a".repeat(32))).await.unwrap();
}

/// F-42: a data directory that was copied, before its token was registered.
async fn two_servers_that_start_with_one_admin_token_both_take_it(api: Api) {
    let secret = TokenSecret::from_random([7; 32]);
    let servers = [0; 4].map(|_| api.again(ContextConfig::default()));
    let starts = servers.iter().map(|server| server.kernel.ensure_admin(Some(secret.clone())));
    for started in futures_util::future::join_all(starts).await {
        started.unwrap();
    }
    assert_eq!(global_tokens(&api).await.len(), 2);
}

/// SEC-02
async fn a_project_admin_gives_only_what_it_has(api: Api) {
    let admin = api.token(json!({ "project_id": "p1", "scopes": ["admin"] })).await;
    let ask = json!({ "project_id": "p1", "scopes": ["operate"] }).to_string();
    let made = api.with(&admin, "POST", "/tokens", &ask).await.expect(201);
    assert_eq!(made["project_id"], "p1");
    let operator = made["token"].as_str().unwrap();
    api.with(operator, "POST", "/tokens", &ask).await.expect_error(403, "forbidden");
    let elsewhere = json!({ "project_id": "nowhere", "scopes": ["read"] });
    api.post("/tokens", elsewhere).await.expect_error(404, "not_found");
}

/// SEC-08
async fn bad_tokens_are_refused_with_the_field(api: Api) {
    for (body, field) in [
        (json!({}), "scopes"),
        (json!({ "scopes": [] }), "scopes"),
        (json!({ "scopes": ["root"] }), "scopes/0"),
        (json!({ "scopes": "read" }), "scopes"),
        (json!({ "scopes": ["read"], "project_id": "a b" }), "project_id"),
        (json!({ "scopes": ["read"], "expires_in_seconds": 0 }), "expires_in_seconds"),
        (json!({ "scopes": ["read"], "expires_in_seconds": 315_360_001_u64 }), "expires_in_seconds"),
        (json!({ "scopes": ["read"], "expires_in_seconds": -1 }), "expires_in_seconds"),
        (json!({ "scopes": ["read"], "extra": 1 }), "extra"),
    ] {
        let reply = api.post("/tokens", body.clone()).await;
        reply.expect_error(400, "bad_request");
        assert!(
            reply.json()["error"]["message"].as_str().unwrap().contains(field),
            "{body}: {}",
            reply.json()
        );
    }
}

/// SEC-03
async fn foreign_hosts_and_origins_are_refused(api: Api) {
    let bearer = format!("Bearer {}", api.admin);
    let ask = async |headers: &[(&str, &str)]| {
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        api.request("GET", "/projects", &all, "").await
    };
    for host in ["localhost", "LOCALHOST:7117", "127.0.0.1:80", "[::1]:7117", "10.0.0.1"] {
        ask(&[("host", host)]).await.expect(200);
    }
    for host in ["evil.example", "evil.example:7117", "localhost.evil.example", ""] {
        ask(&[("host", host)]).await.expect_error(403, "forbidden");
    }
    ask(&[("origin", "http://localhost:3000")]).await.expect(200);
    for origin in ["https://evil.example", "null", "file://localhost"] {
        let reply = ask(&[("origin", origin)]).await;
        reply.expect_error(403, "forbidden");
        assert!(reply.headers.get("access-control-allow-origin").is_none());
    }
}

#[tokio::test]
async fn a_named_host_is_served_when_told_so() {
    let api = Api::start_with(Backend::Sqlite, |mut config| {
        config.allowed_hosts.push("cards.example".to_owned());
        config
    })
    .await;
    let bearer = format!("Bearer {}", api.admin);
    let headers = [("authorization", bearer.as_str()), ("host", "Cards.example:443")];
    api.request("GET", "/projects", &headers, "").await.expect(200);
}

/// SEC-07: per-token request rate, at n and n + 1.
#[tokio::test]
async fn one_token_has_a_rate_and_others_do_not_share_it() {
    let mut api = Api::start(Backend::Sqlite).await;
    let (first, second) =
        (api.token(json!({ "scopes": ["read"] })).await, api.token(json!({ "scopes": ["read"] })).await);
    let mut config = cardwire_server::ServerConfig::new("test");
    config.requests_per_second = 3;
    api.router = cardwire_server::router(api.kernel.clone(), config);
    let started = std::time::Instant::now();
    let mut refused = 0;
    let asked = 40;
    for _ in 0..asked {
        let reply = api.with(&first, "GET", "/projects", "").await;
        if reply.status == 429 {
            refused += 1;
            reply.expect_error(429, "rate_limited");
            assert!(reply.headers.contains_key("retry-after"));
        } else {
            reply.expect(200);
        }
    }
    // A burst of three, then three each second: however slow this machine is, no more than that.
    let allowed = 3 + 3 * (started.elapsed().as_secs() + 1);
    assert!(asked - refused <= allowed && asked - refused >= 3, "{refused} of {asked} refused");
    api.with(&second, "GET", "/projects", "").await.expect(200);
}
