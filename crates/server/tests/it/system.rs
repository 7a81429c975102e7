//! What the server says of itself (API-14).

use crate::support::{Api, on_both};
use cardwire_api::ENDPOINTS;
use serde_json::Value;

on_both! {
    it_is_alive_and_ready;
    the_openapi_document_is_complete;
    damage_is_found_by_verify;
    what_a_card_is_cannot_be_changed_unseen;
}

async fn it_is_alive_and_ready(api: Api) {
    api.request("GET", "/health", &[], "").await.expect(200);
    let ready = api.get("/ready").await.expect(200);
    assert_eq!(ready["status"], "ready");
    // SEC-01, F-14: strangers are told no more than that.
    let bare = async || api.request("GET", "/ready", &[], "").await;
    assert_eq!(bare().await.expect(200), serde_json::json!({ "status": "ready" }));
    api.get("/metrics").await.status.is_success().then_some(()).unwrap();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let reply = api.request("GET", "/health", &[("traceparent", trace)], "").await;
    let answered = reply.headers["traceparent"].to_str().unwrap();
    assert!(answered.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && answered != trace);
    // HEAD is answered where GET is.
    assert_eq!(api.request("HEAD", "/health", &[], "").await.status, 200);
    assert_eq!(api.request("HEAD", "/projects/p1", &[], "").await.status, 401);
    assert_eq!(api.with(&api.admin, "HEAD", "/l0/claim", "").await.status, 405);
    api.kernel.shutdown().await;
    api.get("/ready").await.expect_error(503, "unavailable");
    api.clock.advance(1);
    let told = bare().await;
    told.expect_error(503, "unavailable");
    assert!(told.json()["error"].get("detail").is_none(), "{}", told.json());
    api.request("GET", "/health", &[], "").await.expect(200);
}

async fn the_openapi_document_is_complete(api: Api) {
    let document = api.get("/openapi.json").await.expect(200);
    assert_eq!(document["openapi"], "3.1.0");
    for endpoint in ENDPOINTS {
        let operation = &document["paths"][endpoint.path][endpoint.method.to_lowercase()];
        assert!(operation["summary"].is_string(), "{} {}", endpoint.method, endpoint.path);
        assert!(operation["responses"][endpoint.success.0.to_string()].is_object());
    }
    let mut wanted = vec![];
    references(&document, &mut wanted);
    assert!(!wanted.is_empty());
    for reference in wanted {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{reference}");
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str().filter(|_| key == "$ref") {
                    Some(reference) => found.push(reference.to_owned()),
                    None => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A card that says something true.
fn draft() -> cardwire_model::CardDraft {
    use cardwire_model::CanonicalJson;
    cardwire_model::CardDraft {
        content: CanonicalJson::string("true").unwrap(),
        metadata: CanonicalJson::parse(r#"{"type":"x"}"#, "x").unwrap(),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    }
}

/// SEC-05: what verification recomputes is the stored bytes, not what it remembers.
async fn damage_is_found_by_verify(api: Api) {
    use cardwire_model::{CanonicalJson, CardId, Commit, Origin, Write};
    let id: CardId = crate::support::NOBODY.parse().unwrap();
    let mut card = draft().into_card(id, Origin::Operator, api.kernel.now()).unwrap();
    card.metadata = CanonicalJson::parse(r#"{"type":"x","forged":true}"#, "x").unwrap();
    let mut commit = Commit::new("p1".parse::<cardwire_model::ProjectId>().unwrap());
    commit.writes.push(Write::PutCard(Box::new(card)));
    api.store.commit(commit).await.unwrap();
    let report = api.post("/admin/verify", serde_json::json!({})).await.expect(200);
    assert_eq!(report["ok"], false);
    let p1 = report["realms"].as_array().unwrap().iter().find(|realm| realm["project_id"] == "p1").unwrap();
    assert_eq!(p1["bad_card_ids"], serde_json::json!([id.to_string()]));
}

/// What is kept beside a card's metadata, because it is looked for, must be what that says.
async fn what_a_card_is_cannot_be_changed_unseen(api: Api) {
    use cardwire_model::{Card, CardId, CardKind, Commit, Origin, ProjectId, Role, Write};
    let damage: [fn(&mut Card); 4] = [
        |card| card.kind = CardKind::new("sys.profile").unwrap(),
        |card| card.role = Role::System,
        |card| card.author_id = Some("boss".to_owned()),
        // Nobody would be shown it any more.
        |card| card.expires_at = Some(card.created_at),
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        let id: CardId = format!("{:032x}", number + 1).parse().unwrap();
        let mut card = draft().into_card(id, Origin::Operator, api.kernel.now()).unwrap();
        damage(&mut card);
        let mut commit = Commit::new("p1".parse::<ProjectId>().unwrap());
        commit.writes.push(Write::PutCard(Box::new(card)));
        api.store.commit(commit).await.unwrap();
    }
    let report = api.post("/admin/verify", serde_json::json!({})).await.expect(200);
    let p1 = report["realms"].as_array().unwrap().iter().find(|realm| realm["project_id"] == "p1").unwrap();
    assert_eq!(p1["bad_card_ids"].as_array().unwrap().len(), 4, "{p1}");
}
