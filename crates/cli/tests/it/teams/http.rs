//! `POST /projects/{p}/teams/{name}:run` (API-17).

use super::{
    crew::{crew, says},
    stage::{on_a_server, on_both_servers, text},
};
use crate::support::Server;
use serde_json::{Value, json};

const RUN: &str = "/projects/p1/teams/crew:run";

fn with_team(server: &Server, rules: Value) {
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    let put =
        server.request("PUT", "/projects/p1/teams/crew", &crew("sequential", &["a"], rules).to_string());
    assert_eq!(put.status, 201, "{put:?}");
}

/// API-17
#[test]
fn whoever_waits_is_given_the_deliverable_and_whoever_does_not_the_turn() {
    on_both_servers(|stage, server| {
        with_team(server, json!([says("a", "Seven.")]));
        let waited = server.post(RUN, json!({ "query": "How many?", "session_id": "s1", "wait_ms": 99_000 }));
        let (status, waited) = (waited.status, waited.json());
        assert_eq!(
            (status, &waited["status"], &waited["deliverable"]),
            (200, &json!("success"), &json!("Seven."))
        );
        assert_eq!((&waited["session_id"], &waited["agent_id"]), (&json!("s1"), &json!("team_crew")));
        let begun = server.post(RUN, json!({ "query": "And now?" })).json();
        assert_eq!(begun["deliverable"], Value::Null, "{begun}");
        assert_ne!(begun["session_id"], "s1", "a run has a session of its own unless it is told which");
        // The same run, from the command line.
        stage.home.file("team.yaml", crew("sequential", &["a"], json!([says("a", "Seven.")])).to_string());
        let told = stage.home.json(&["run", "team.yaml", "--resume", "--project", "p1"]);
        assert_eq!(
            (&told["agent_turn_id"], &told["deliverable"]),
            (&begun["agent_turn_id"], &json!("Seven."))
        );
    });
}

/// API-16
#[test]
fn a_run_that_is_asked_for_twice_with_one_key_is_one_run() {
    on_a_server(|stage, server| {
        with_team(server, json!([says("a", "Seven.")]));
        let authorization = format!("Bearer {}", server.token);
        let headers = [("authorization", authorization.as_str()), ("idempotency-key", "k1")];
        let body = json!({ "query": "How many?", "wait_ms": 30_000 }).to_string();
        let ask = |body: &str| server.request_with("POST", RUN, &headers, body.as_bytes());
        let (first, again) = (ask(&body), ask(&body));
        assert_eq!((first.status, again.status), (200, 200), "{first:?} {again:?}");
        assert_eq!(text(&first.json()["agent_turn_id"]), text(&again.json()["agent_turn_id"]));
        assert_eq!(ask(&body.replace("many", "few")).status, 409);
        assert_eq!(stage.turns_of("team_crew").len(), 1);
    });
}
