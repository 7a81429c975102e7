//! The OpenAPI document and the server it is of (F-14).

use crate::support::{Api, on_sqlite};
use cardwire_api::{ENDPOINTS, Op, openapi};
use serde_json::{Value, json};

on_sqlite! {
    every_example_of_a_request_is_one_that_the_server_takes;
    a_dispatch_that_names_no_profile_takes_the_agents_own;
}

/// Every example is sent in the order of the document, each to the path that its parameters' examples make.
async fn every_example_of_a_request_is_one_that_the_server_takes(api: Api) {
    let document = openapi::document("test");
    let mut sent = 0;
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.body.is_some()) {
        let operation = &document["paths"][endpoint.path][endpoint.method.to_lowercase()];
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        assert!(!example.is_null(), "{:?} has no example", endpoint.op);
        let mut path = endpoint.path.to_owned();
        for parameter in operation["parameters"].as_array().unwrap() {
            if let Some(value) = parameter["example"].as_str() {
                path = path.replace(&format!("{{{}}}", parameter["name"].as_str().unwrap()), value);
            }
        }
        let reply = api.with(&api.admin, endpoint.method, &path, &example.to_string()).await;
        // What it names is not there; it is well said all the same.
        let status = reply.status.as_u16();
        let is_taken = status < 300 || matches!(status, 404 | 409 | 422);
        assert!(is_taken, "{:?} {path} {example}: {}", endpoint.op, String::from_utf8_lossy(&reply.bytes));
        sent += 1;
        // What follows needs the project as it was.
        if endpoint.op == Op::CreateProject {
            assert_eq!(status, 201);
        }
    }
    assert!(sent > 40, "{sent}");
}

/// F-14, DP-03
async fn a_dispatch_that_names_no_profile_takes_the_agents_own(api: Api) {
    let own = api.agent("a1").await;
    let context = api.context("do it").await;
    for absent in [json!({}), json!({ "profile_box_id": null }), json!({ "profile_box_id": " " })] {
        let mut body = absent;
        body["agent_id"] = json!("a1");
        let missing = api.send_turn(&body).await;
        missing.expect_error(400, "missing_context_box_id");
        body["context_box_id"] = json!(context);
        let turn = api.send_turn(&body).await.expect(201);
        let turn = api.turn(turn["agent_turn_id"].as_str().unwrap()).await;
        assert_eq!(turn["profile_box_id"], json!(own));
        body["agent_id"] = json!("stranger");
        let refused = api.send_turn(&body).await;
        refused.expect_error(400, "missing_profile_box_id");
        let told: Value = refused.json();
        assert_eq!((&told["status"], &told["agent_id"]), (&json!("rejected"), &json!("stranger")));
        assert!(
            told["error"]["message"].as_str().unwrap().contains("stranger is not in the roster"),
            "{told}"
        );
    }
    // The same request again is the same turn, though the roster could say something else by now.
    let body = json!({ "agent_id": "a1", "context_box_id": context, "correlation_id": "order 7" });
    let first = api.send_turn(&body).await.expect(201);
    let again = api.send_turn(&body).await.expect(200);
    assert_eq!(again["agent_turn_id"], first["agent_turn_id"]);
}
