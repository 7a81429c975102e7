//! `cardwire event` (API-13).

use crate::support::{Backend, Home, Lines, Server};
use serde_json::Value;
use std::process::{Child, Stdio};

fn kinds(home: &Home, args: &[&str]) -> Vec<String> {
    let printed = home.ok(&[&["event", "tail", "-p", "p1", "--json"], args].concat());
    let kind = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        format!("{} {}", event["position"], event["kind"].as_str().unwrap())
    };
    printed.lines().map(kind).collect()
}

/// API-13
#[test]
fn a_tail_starts_where_it_is_told_and_ends_at_the_end() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    home.put_card("one");
    home.ok(&["box", "create", "-p", "p1"]);
    let check = || {
        assert_eq!(kinds(&home, &[]), ["1 project.created", "2 card.created", "3 box.created"]);
        assert_eq!(kinds(&home, &["--after", "1"]), ["2 card.created", "3 box.created"]);
        assert!(kinds(&home, &["--after", "3"]).is_empty());
        assert!(kinds(&home, &["--agent", "nobody"]).is_empty());
        assert_eq!(home.ok(&["event", "list", "-p", "p1"]).lines().count(), 3);
    };
    check();
    assert_eq!(server.terminate().code(), Some(0));
    check();
}

/// Kills the process whatever the test does.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// API-13: exactly once over a restart, although the server comes back on another port.
#[test]
fn a_tail_that_follows_resumes_after_a_restart_of_the_server() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    let mut tail = home.command(&["event", "tail", "--follow", "--json", "-p", "p1"]);
    let mut tail = Killed(tail.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let lines = Lines::of(tail.0.stdout.take().unwrap());
    let next = || {
        let event: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        (event["position"].as_u64().unwrap(), event["target"].as_str().unwrap().to_owned())
    };
    assert_eq!(next(), (1, "p1".to_owned()));
    let first = home.put_card("one");
    assert_eq!(next(), (2, first));
    server.kill();
    let between = home.put_card("written without a server");
    let again = home.up(&[]);
    assert_eq!(next(), (3, between));
    let last = home.put_card("two");
    assert_eq!(next(), (4, last));
    drop(again);
}

#[test]
fn following_needs_a_server() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    home.cardwire(&["event", "tail", "--follow", "-p", "p1"]).failed(1, "no server is running");
}

/// API-08
#[test]
fn the_audit_log_is_listed_newest_first() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    home.ok(&["project", "update", "p1", "--title", "One"]);
    let list = home.json(&["audit", "list", "-p", "p1"]);
    let actions: Vec<_> = list["items"].as_array().unwrap().iter().map(|row| &row["action"]).collect();
    assert_eq!(actions.last().unwrap().as_str(), Some("project.create"), "{list}");
    assert!(actions.len() > 1, "{list}");
    assert!(home.ok(&["audit", "list", "-p", "p1"]).contains("project.create"));
}
