//! `cardwire pmo call fork_join` and `cardwire batch` (API-09, API-15).

use crate::support::{Backend, Home};
use serde_json::json;

/// BM-06, BM-13
#[test]
fn a_fork_is_listed_shown_and_called_off() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    home.ok(&["profile", "put", "Helper", "-p", "p1", "--worker-target", "w1", "--system-prompt", "Help."]);
    home.ok(&["agent", "add", "boss", "-p", "p1", "--profile", "Helper"]);
    let task = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "Go." });
    let args = json!({ "tasks": [task, task] }).to_string();
    let call = ["pmo", "call", "fork_join", "-p", "p1", "--caller", "boss", "--args", &args];
    let answer = home.json(&call);
    let id = answer["result"]["batch_id"].as_str().unwrap();
    let table = home.ok(&["batch", "list", "-p", "p1", "--status", "running"]);
    assert!(table.contains(id) && table.contains("boss"), "{table}");
    let shown = home.ok(&["batch", "get", "-p", "p1", id]);
    assert_eq!(shown.matches("dispatched").count(), 2, "{shown}");
    assert_eq!(home.ok(&["batch", "cancel", "-p", "p1", id]), format!("{id} is failed"));
    let closed = home.json(&["batch", "get", "-p", "p1", id]);
    assert_eq!((&closed["status"], &closed["close_reason"]), (&json!("failed"), &json!("canceled")));
    let nobody = "batch_0192f0c123457abc8def0123456789ab";
    home.cardwire(&["batch", "get", "-p", "p1", nobody]).failed(3, "batch not found");
    home.cardwire(&["batch", "cancel", "-p", "p1", "odd"]).failed(2, "batch_id");
    home.cardwire(&["batch", "list", "-p", "p1", "--status", "odd"]).failed(2, "status");
}

/// PK-21: what a dry run found is told, for each task of a fork, and what could not be sent is a failure.
#[test]
fn a_dry_run_tells_every_task_and_what_is_wrong_with_it() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let put = ["profile", "put", "-p", "p1", "--worker-target", "w1", "--system-prompt", "Help."];
    home.ok(&[&put[..], &["Helper"]].concat());
    let window = json!({ "model": "m", "context_window": 400 }).to_string();
    home.ok(&[&put[..], &["Narrow", "--llm-config", &window]].concat());
    home.ok(&["agent", "add", "boss", "-p", "p1", "--profile", "Helper"]);
    let dry = |target: &str, words: &str| {
        let task =
            |target, words| json!({ "target_strategy": "new", "target_ref": target, "instruction": words });
        let args = json!({ "tasks": [task("Helper", "Go."), task(target, words)] }).to_string();
        home.cardwire(&[
            "pmo",
            "call",
            "fork_join",
            "-p",
            "p1",
            "--caller",
            "boss",
            "--dry-run",
            "--args",
            &args,
        ])
    };
    let good = dry("Narrow", "Go.");
    assert_eq!(good.code, 0, "{good:?}");
    assert_eq!(good.stdout.matches("task.instruction").count(), 2, "{good:?}");
    assert!(good.stderr.contains("task 0: about ") && good.stderr.contains("names no window"), "{good:?}");
    assert!(good.stderr.contains("task 1: about ") && good.stderr.contains("the window is 400"), "{good:?}");
    let long = "word ".repeat(2_000);
    let bad = dry("Narrow", &long);
    bad.failed(1, "task 1: context_overflow");
    assert!(bad.stderr.contains("it cannot be sent"), "{bad:?}");
    let args = json!({ "target_strategy": "new", "target_ref": "Narrow", "instruction": long }).to_string();
    let call =
        ["pmo", "call", "delegate_async", "-p", "p1", "--caller", "boss", "--args", &args, "--dry-run"];
    home.cardwire(&call).failed(1, "context_overflow");
    let told = home.cardwire(&[&call[..], &["--json"]].concat());
    assert!(told.code == 1 && told.stdout.contains("\"ok\":false"), "{told:?}");
    assert!(home.ok(&["pmo", "call", "--help"]).contains("fork_join"));
}
