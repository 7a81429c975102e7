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
