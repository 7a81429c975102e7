//! SEC-08: a property-based API tester, driven by our own OpenAPI document, finds no 5xx and no answer that the
//! document does not describe.

use crate::support::{Backend, Server};
use cardwire_testkit::scaled;
use serde_json::{Value, json};
use std::process::Command;

/// Where the tester is; `cargo xtask test` and `cargo xtask services` install it and set this.
const SCHEMATHESIS: &str = "CARDWIRE_TEST_SCHEMATHESIS";

#[test]
fn the_api_tester_finds_nothing_on_sqlite() {
    fuzz(Backend::Sqlite);
}

#[test]
fn the_api_tester_finds_nothing_on_postgres() {
    fuzz(Backend::Postgres);
}

fn fuzz(backend: Backend) {
    let tester = std::env::var(SCHEMATHESIS).unwrap_or_else(|_| {
        panic!("{SCHEMATHESIS} is not set: run `cargo xtask test`, or `cargo xtask services`")
    });
    let server = Server::on(backend, &[]);
    server.post("/projects", json!({ "project_id": "fuzz" }));
    let card =
        server.post("/projects/fuzz/l0/cards", json!({ "content": "x", "metadata": { "type": "x" } })).json();
    let card = card["card_id"].as_str().unwrap();
    let made = server.post("/projects/fuzz/l0/boxes", json!({ "card_ids": [card] })).json();
    let box_id = made["box_id"].as_str().unwrap();

    let profile = json!({ "worker_target": "w1", "system_prompt": "x" }).to_string();
    let profile = server.request("PUT", "/projects/fuzz/profiles/Helper", &profile).json();
    server.post("/projects/fuzz/agents", json!({ "agent_id": "a1", "profile_name": "Helper" }));
    let order = json!({
        "agent_id": "a1", "profile_box_id": profile["profile_box_id"], "context_box_id": box_id,
    });
    let turn = server.post("/projects/fuzz/l0/turns", order).json();
    let turn = turn["agent_turn_id"].as_str().unwrap();
    let package = json!({
        "handoff_type": "init_to_execute", "timestamp": "2026-01-04T10:30:00", "user_requirement": "x",
        "design_artifacts": { "rules": "rules.md" },
    });
    let handoff = server.post("/projects/fuzz/handoffs", package).json();
    let handoff = handoff["handoff_id"].as_str().unwrap();
    let call = call(&server, &profile["profile_box_id"], box_id);

    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("schemathesis.toml");
    // Fixed ids, so that requests get past the first 404.
    let parameters = format!(
        "[parameters]\nproject_id = \"fuzz\"\nbox_id = \"{box_id}\"\n\"path.card_id\" = \"{card}\"\n\
         \"path.agent_turn_id\" = \"{turn}\"\n\"path.agent_id\" = \"a1\"\n\"path.profile_name\" = \"Helper\"\n\
         \"path.session_id\" = \"talk\"\n\"path.call_id\" = \"{call}\"\n\"path.handoff_id\" = \"{handoff}\"\n"
    );
    std::fs::write(&config, parameters).unwrap();
    // Both stores serve the same API: the tester tries the boundary values of each parameter on SQLite, and random requests
    // on Postgres.
    let (phases, examples) = match backend {
        Backend::Sqlite => ("examples,coverage", 1),
        Backend::Postgres | Backend::Victim => ("fuzzing", scaled(3)),
    };
    let run = Command::new(&tester)
        .current_dir(files.path())
        .arg("--config-file")
        .arg(&config)
        .args(["run", &format!("{}/openapi.json", server.url)])
        .args(["--header", &format!("Authorization: Bearer {}", server.token)])
        .args([
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
        ])
        .args(["--phases", phases, "--max-examples", &examples.to_string()])
        .args(["--workers", "1", "--request-timeout", "30"])
        // These would end the fun for the others, or never end themselves.
        .args(["--exclude-operation-id", "deleteProject", "--exclude-operation-id", "revokeToken"])
        .args(["--exclude-operation-id", "readEvents", "--exclude-operation-id", "claimTurns"])
        .args(["--suppress-health-check", "all"])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{output}\n{}", String::from_utf8_lossy(&run.stderr));
    let phase = if backend == Backend::Sqlite { "Coverage (in" } else { "Fuzzing (in" };
    assert!(output.contains(phase), "the tester skipped `{phase}`:\n{output}");
    assert!(!output.contains("Authentication failed"), "the tester was not let in:\n{output}");
}

/// A call of a turn that belongs to a session, with a document to find.
fn call(server: &Server, profile_box: &Value, context_box: &str) -> String {
    let profile = json!({ "worker_target": "w2", "system_prompt": "x", "llm_config": { "model": "gpt-4o" } });
    server.request("PUT", "/projects/fuzz/profiles/Second", &profile.to_string());
    server.post("/projects/fuzz/agents", json!({ "agent_id": "a2", "profile_name": "Second" }));
    let said = json!([{ "role": "human", "content": "hi" }, { "role": "ai", "content": "hello" }]);
    server.post("/projects/fuzz/sessions/talk/patches", json!({ "messages": { "append": said } }));
    server.post("/projects/fuzz/knowledge", json!({ "source_id": "a.md", "text": "# Boats\n\nA red boat." }));
    let order = json!({
        "agent_id": "a2", "profile_box_id": profile_box, "context_box_id": context_box,
        "runtime_config": { "session_id": "talk" },
    });
    server.post("/projects/fuzz/l0/turns", order);
    let claim = json!({ "worker_target": "w2", "worker_id": "fuzz", "wait_ms": 10_000, "start": true });
    let lease = server.post("/l0/claim", claim).json()["leases"][0].clone();
    let path = format!("/projects/fuzz/l0/turns/{}/calls", lease["agent_turn_id"].as_str().unwrap());
    let made = server.post(&path, json!({ "turn_epoch": lease["turn_epoch"], "model": "gpt-4o" }));
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["call_id"].as_str().unwrap().to_owned()
}
