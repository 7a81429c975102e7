//! Work that waits for a worker, as people see it (F-03), and workers that stand in for each other (F-08).

use crate::support::{Backend, Home, Lines, Server, eventually};
use serde_json::json;
use std::process::{Child, Command, Stdio};

fn with_agent(home: &Home) {
    home.ok(&["project", "create", "p1"]);
    home.ok(&["profile", "put", "-p", "p1", "echo", "--worker-target", "python", "--system-prompt", "Echo."]);
    home.ok(&["agent", "add", "-p", "p1", "a1", "--profile", "echo"]);
}

/// F-03, WD-04: nobody is at fault that a worker is started later; until then everybody is told what is missing.
#[test]
fn work_that_no_worker_asks_for_is_told_of_and_waits() {
    let server = Server::start(&["--watchdog-tick-seconds", "1"]);
    let home = &server.home;
    with_agent(home);
    let said = "no worker has asked for target python for ";
    let mut waiting =
        home.command(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "echo hi", "--wait"]);
    let mut waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let told = Lines::of(waiting.stderr.take().unwrap());
    let turn = eventually("the turn to be there", || {
        let list = home.json(&["turn", "list", "-p", "p1"]);
        list["items"][0]["agent_turn_id"].as_str().map(str::to_owned)
    });
    let shown = home.ok(&["turn", "get", "-p", "p1", &turn]);
    assert!(shown.contains("waiting") && shown.contains(said), "{shown}");
    let doctor = home.ok(&["doctor"]);
    assert!(
        doctor.contains("warn  workers: 1 turn waits in project p1: ") && doctor.contains(said),
        "{doctor}"
    );
    let note = told.next().expect("people are told");
    assert!(note.starts_with("note: the turn waits: ") && note.contains(said), "{note}");
    let hint = told.next().expect("a hint");
    assert!(hint.starts_with("hint: start a worker that asks for target python"), "{hint}");
    let worker = Worker::start(&server, "");
    let ended = waiting.wait_with_output().unwrap();
    drop(worker);
    let output = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && output.contains("hi"), "{output}");
    let doctor = home.ok(&["doctor"]);
    assert!(doctor.contains("ok    workers: "), "{doctor}");
}

/// F-08, WD-05: a worker is killed at a turn, and another one that stands ready goes on with it.
#[test]
fn a_killed_worker_loses_its_turn_to_one_that_stands_ready() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let home = Home::new(backend);
        let server = home.up(&["--watchdog-tick-seconds", "1", "--watchdog-worker-lost-seconds", "8"]);
        with_agent(&home);
        let mut first = Worker::start(&server, "");
        let turn = home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "slow 4"]);
        let path = format!("/projects/p1/turns/{turn}");
        eventually("the turn to run", || (server.get(&path).json()["status"] == "running").then_some(()));
        let _second = Worker::start(&server, "");
        first.kill();
        let ended = eventually("the turn to end", || {
            let turn = server.get(&path).json();
            turn["ended_at"].is_string().then_some(turn)
        });
        assert_eq!((&ended["status"], &ended["turn_epoch"]), (&json!("success"), &json!(2)), "{ended:#}");
    }
}

/// F-15: what the server says when it refuses is told, not only the number.
#[test]
fn the_example_tells_what_the_server_refuses() {
    let server = Server::start(&[]);
    let run = Worker::start(&server, "no such token").0.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && errors.contains("unauthenticated"), "{errors}");
}

/// The example as a process, ended with its value.
struct Worker(Child);

impl Worker {
    fn start(server: &Server, token: &str) -> Self {
        let token = match token {
            "" => server.home.token(),
            other => other.to_owned(),
        };
        let mut python = Command::new("python3");
        python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/worker.py"));
        python
            .env("CARDWIRE_URL", &server.url)
            .env("CARDWIRE_TOKEN", token.trim())
            .env("no_proxy", "127.0.0.1");
        python.env_remove("CARDWIRE_TARGET").stdin(Stdio::null()).stderr(Stdio::piped());
        Self(python.spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
