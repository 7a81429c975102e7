//! Turn tokens (SEC-02): bound to project, agent, turn and epoch, and good for nothing else.

use crate::support::{Api, Backend, Leased, on_sqlite};
use cardwire_api::{Access, ENDPOINTS};
use serde_json::json;

on_sqlite! {
    a_turn_token_opens_its_turn_only;
    a_malformed_or_foreign_turn_token_opens_nothing;
    a_refusal_of_a_turn_token_is_audited;
    a_turn_token_acts_in_the_name_of_its_turn;
    a_turn_token_has_a_key_space_of_its_own;
}

/// Every endpoint of the table, so that a new one cannot be forgotten.
async fn a_turn_token_opens_its_turn_only(api: Api) {
    let (mine, other) = (api.running("a1").await, api.running("a2").await);
    let before = api.everything().await;
    for endpoint in ENDPOINTS {
        let path = |turn: &str, project: &str| {
            endpoint
                .path
                .replace("{project_id}", project)
                .replace("{agent_turn_id}", turn)
                .replace("{agent_id}", "a1")
                .replace("{profile_name}", "Helper")
                .replace("{token_id}", &format!("tok_{}", crate::support::NOBODY))
                .replace("{box_id}", &mine.output)
                .replace("{card_id}", crate::support::NOBODY)
        };
        let ask = async |turn: &Leased, project: &str| {
            let body = json!({ "agent_turn_id": turn.turn }).to_string();
            api.with(&mine.token, endpoint.method, &path(&turn.turn, project), &body).await
        };
        match endpoint.access {
            Access::Turn(_) => {
                ask(&other, "p1").await.expect_error(401, "unauthenticated");
                ask(&mine, "p2").await.expect_error(401, "unauthenticated");
                ask(&mine, "nowhere").await.expect_error(401, "unauthenticated");
                let own = ask(&mine, "p1").await;
                assert!(matches!(own.status.as_u16(), 200 | 400), "{:?}: {}", endpoint.op, own.status);
            }
            Access::Open => {
                ask(&mine, "p1").await.expect(200);
            }
            Access::Guest(_) | Access::Any(_) | Access::Global(_) | Access::Project(_) => {
                let reply = ask(&mine, "p1").await;
                assert_eq!(reply.status, 403, "{:?}", endpoint.op);
                assert!(matches!(reply.code().as_str(), "forbidden" | "box_not_writable"));
            }
        }
    }
    assert_eq!(api.everything().await, before, "nothing of it was done");
}

async fn a_malformed_or_foreign_turn_token_opens_nothing(api: Api) {
    let (leased, other) = (api.running("a1").await, api.running("a2").await);
    let shorter = leased.token[..leased.token.len() - 1].to_owned();
    let last = if leased.token.ends_with('0') { "1" } else { "0" };
    for bad in [
        "cwturn_".to_owned(),
        shorter.clone(),
        format!("{}0", leased.token),
        leased.token.to_uppercase(),
        format!("{shorter}g"),
        format!("{shorter}{last}"),
        leased.token.replace("cwturn_", "cw_"),
        leased.token.replace("p1", "p2"),
        leased.token.replacen(&leased.turn, &other.turn, 1),
    ] {
        let wrong = Leased { token: bad, ..leased.clone() };
        api.verb(&wrong, ":heartbeat", json!({})).await.expect_error(401, "unauthenticated");
        api.report(&wrong, "c1", json!({ "result": 1 })).await.expect_error(401, "unauthenticated");
        let view = api.with(&wrong.token, "GET", &leased.path("/view"), "").await;
        view.expect_error(401, "unauthenticated");
    }
    api.verb(&leased, ":heartbeat", json!({})).await.expect(200);
    api.delete("/projects/p1").await.expect(204);
    // The deletion reaches whoever remembers the project within a second.
    api.clock.advance(1);
    api.verb(&leased, ":heartbeat", json!({})).await.expect_error(401, "unauthenticated");
}

/// SEC-05: in the project of the turn, whatever the path names; what nobody holds leaves nothing.
async fn a_refusal_of_a_turn_token_is_audited(api: Api) {
    let (mine, other) = (api.running("a1").await, api.running("a2").await);
    let denied = async || {
        let rows = api.items("audit?verdict=denied").await;
        rows.iter().map(|row| (row["actor"].clone(), row["subject"].clone())).collect::<Vec<_>>()
    };
    let card = json!({ "content": "x", "metadata": { "type": "x" } }).to_string();
    let append = json!({ "card_ids": [crate::support::NOBODY] }).to_string();
    let report = json!({
        "agent_id": "a2", "agent_turn_id": other.turn, "turn_epoch": 1, "tool_call_id": "c1", "status": "success",
        "result": 1,
    });
    let (boxes, report) = (format!("/projects/p1/l0/boxes/{}/cards", other.output), report.to_string());
    let refused = [
        ("POST", "/projects/p1/l0/cards", card.as_str(), 403, "/projects/{project_id}/l0/cards"),
        ("POST", "/projects/p2/l0/cards", &card, 403, "/projects/{project_id}/l0/cards"),
        ("GET", "/projects", "", 403, "/projects"),
        ("POST", &boxes, &append, 403, "/projects/{project_id}/l0/boxes/{box_id}/cards"),
        ("GET", &other.path("/view"), "", 401, "/projects/{project_id}/l0/turns/{agent_turn_id}/view"),
        ("POST", "/projects/p1/l0/reports", &report, 401, "/projects/{project_id}/l0/reports"),
    ];
    let last = if mine.token.ends_with('0') { "1" } else { "0" };
    let invented = format!("{}{last}", &mine.token[..mine.token.len() - 1]);
    for (method, path, body, status, route) in refused {
        let before = denied().await;
        assert_eq!(api.with(&invented, method, path, body).await.status, 401, "{path}");
        assert_eq!(denied().await, before, "{path}");
        assert_eq!(api.with(&mine.token, method, path, body).await.status, status, "{path}");
        let mut expected = vec![(json!(mine.turn), json!(format!("{method} {route}")))];
        expected.extend(before);
        assert_eq!(denied().await, expected);
    }
}

/// SEC-07: a worker that hurries slows down neither its other turns nor whoever gave it the token.
#[tokio::test]
async fn a_turn_has_a_rate_of_its_own() {
    let mut api = Api::start(Backend::Sqlite).await;
    let (one, two) = (api.running("a1").await, api.running("a2").await);
    let mut config = cardwire_server::ServerConfig::new("test");
    config.requests_per_second = 3;
    api.router = cardwire_server::router(api.kernel.clone(), config);
    let mut refused = 0;
    for _ in 0..40 {
        let reply = api.verb(&one, ":heartbeat", json!({})).await;
        if reply.status == 429 {
            reply.expect_error(429, "rate_limited");
            refused += 1;
        } else {
            reply.expect(200);
        }
    }
    assert!(refused > 0);
    api.verb(&two, ":heartbeat", json!({})).await.expect(200);
    api.get("/projects").await.expect(200);
}

/// SEC-05, SEC-10
async fn a_turn_token_acts_in_the_name_of_its_turn(api: Api) {
    let leased = api.running("a1").await;
    let thought = api.think(&leased, "x").await;
    let card = api.get(&format!("/projects/p1/cards/{thought}")).await.expect(200);
    assert_eq!(card["origin"], "agent");
}

/// API-16: keyed by the turn, so that workers never meet.
async fn a_turn_token_has_a_key_space_of_its_own(api: Api) {
    let (one, two) = (api.running("a1").await, api.running("a2").await);
    let keyed = async |leased: &Leased, text: &str| {
        let body = json!({
            "turn_epoch": leased.epoch, "content": text, "metadata": { "type": "agent.thought" },
        });
        let bearer = format!("Bearer {}", leased.token);
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
        api.request("POST", &leased.path("/cards"), &headers, body.to_string()).await
    };
    let first = keyed(&one, "x").await.expect(200);
    assert_eq!(keyed(&one, "x").await.expect(200), first);
    keyed(&one, "y").await.expect_error(409, "conflict");
    let other = keyed(&two, "x").await.expect(200);
    assert_ne!(other["card_ids"], first["card_ids"]);
    assert_eq!(api.shown("p1", &one.output).await.len(), 1);
    // An answer that is remembered is told to its holder only.
    let thief = Leased { token: two.token.clone(), ..one.clone() };
    keyed(&thief, "x").await.expect_error(401, "unauthenticated");
}
