//! `examples/worker.py` as its users run it: beside a server, on both stores.

use crate::support::{Backend, Home, Server, eventually};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};

#[test]
fn the_example_answers_turns_on_sqlite() {
    answers_turns(Backend::Sqlite);
}

#[test]
fn the_example_answers_turns_on_postgres() {
    answers_turns(Backend::Postgres);
}

/// API-10, WK-06; and NF-04: also after the server was killed.
fn answers_turns(backend: Backend) {
    let home = Home::new(backend);
    let server = home.up(&[]);
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    let profile = json!({ "worker_target": "python", "system_prompt": "Echo." }).to_string();
    let profile = server.request("PUT", "/projects/p1/profiles/echo", &profile);
    assert_eq!(profile.status, 201, "{profile:?}");
    let profile_box = profile.json()["profile_box_id"].clone();
    let agent = json!({ "agent_id": "a1", "profile_name": "echo" });
    assert_eq!(server.post("/projects/p1/agents", agent).status, 201);
    let token = home.ok(&["token", "create", "--scope", "work", "--project", "p1"]);
    let _worker = Worker::start(&server.url, &token);

    answers(&server, &profile_box, "What is the answer?");
    let address = server.address().to_owned();
    server.kill();
    let server = home.up(&["--listen", &address]);
    answers(&server, &profile_box, "And now?");
    assert_eq!(server.terminate().code(), Some(0));
}

/// A turn is dispatched, and its deliverable is what the example makes of the instruction.
fn answers(server: &Server, profile_box: &Value, instruction: &str) {
    let card = server.home.put_card(instruction);
    let context = server.home.ok(&["box", "create", "-p", "p1", &card]);
    let wanted = json!({ "agent_id": "a1", "profile_box_id": profile_box, "context_box_id": context });
    let made = server.post("/projects/p1/l0/turns", wanted);
    assert_eq!(made.status, 201, "{made:?}");
    let path = format!("/projects/p1/turns/{}", made.json()["agent_turn_id"].as_str().unwrap());
    let ended = eventually("the turn to end", || {
        let turn = server.get(&path).json();
        (!turn["ended_at"].is_null()).then_some(turn)
    });
    assert_eq!(ended["status"], "success", "{ended:#}");
    assert!(ended["worker_id"].as_str().unwrap().starts_with("python-"), "{ended:#}");
    let cards = server.get(&format!("/projects/p1/boxes/{}/cards", ended["output_box_id"].as_str().unwrap()));
    let cards = cards.json();
    let cards: Vec<_> =
        cards.as_array().unwrap().iter().map(|card| (&card["type"], &card["content"])).collect();
    let (thought, delivered) = (json!(instruction), json!({ "answer": instruction }));
    assert_eq!(cards, [(&json!("agent.thought"), &thought), (&json!("task.deliverable"), &delivered)]);
}

/// The example as a process, ended with its value.
struct Worker(Child);

impl Worker {
    fn start(url: &str, token: &str) -> Self {
        let mut python = Command::new("python3");
        python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/worker.py"));
        python.env("CARDWIRE_URL", url).env("CARDWIRE_TOKEN", token).env("no_proxy", "127.0.0.1");
        Self(python.env_remove("CARDWIRE_TARGET").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
