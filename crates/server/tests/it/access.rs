//! Tokens, hosts, rates.

use crate::support::{Api, Backend, on_both, on_sqlite};
use serde_json::json;

on_both! {
    a_token_is_shown_once_and_can_be_revoked;
}

on_sqlite! {
    a_project_admin_gives_only_what_it_has;
    bad_tokens_are_refused_with_the_field;
    foreign_hosts_and_origins_are_refused;
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
        let reply = api.with(&first, "GET", "/openapi.json", "").await;
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
    api.with(&second, "GET", "/openapi.json", "").await.expect(200);
}
