//! `cardwire session` and `cardwire experience` (ST, CP, EX, API-11, API-15).

use crate::support::{Home, everywhere};
use serde_json::{Value, json};

const ID: &str = "0192f0c123457abc8def0123456789ab";

fn patch(home: &Home, session: &str, body: &str) -> crate::support::Run {
    home.cardwire_with(&["session", "patch", "-p", "p1", session, "--from", "-"], body)
}

/// Eight messages, a question and an answer by turns.
fn talk() -> String {
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) { "human" } else { "ai" };
        json!({ "id": format!("m{n}"), "role": role, "content": format!("message {n}") })
    };
    let messages: Vec<_> = (0..8).map(message).collect();
    json!({ "messages": { "append": messages }, "set": { "goal": "ship it" } }).to_string()
}

/// ST-02, ST-03, ST-09, ST-10
#[test]
fn a_session_is_patched_listed_shown_and_deleted() {
    everywhere(|home| {
        let made = patch(home, "talk", &talk());
        assert_eq!(made.ok(), "session talk is at version 1, with 8 messages");
        let again = patch(home, "talk", &talk());
        assert!(again.stderr.contains("nothing was written"), "{again:?}");
        assert_eq!(again.ok(), "session talk is at version 1, with 8 messages");
        home.file("more.yaml", "expected_version: 1\nmessages:\n  append: [{role: user, content: 你好}]\n");
        let more = home.json(&["session", "patch", "-p", "p1", "talk", "--from", "more.yaml"]);
        assert_eq!((&more["version"], &more["message_count"]), (&json!(2), &json!(9)));

        let shown = home.json(&["session", "get", "-p", "p1", "talk"]);
        assert_eq!((&shown["goal"], &shown["messages"][8]["content"]), (&json!("ship it"), &json!("你好")));
        assert_eq!(shown["messages"][8]["role"], "human");
        let table = home.ok(&["session", "show", "-p", "p1", "talk"]);
        assert!(table.starts_with("session_id:") && table.contains("ship it"), "{table}");
        assert!(table.contains("message 7") && table.contains("你好") && table.contains("human"), "{table}");
        assert!(table.contains("ORIGIN") && table.contains("operator"), "SEC-10: {table}");
        assert!(!table.contains("reflection"), "what is not set is not shown: {table}");

        patch(home, "talk2", "{messages: {append: [{role: human, content: hi}]}}").ok();
        let list = home.ok(&["session", "list", "-p", "p1"]);
        assert!(list.contains("talk2") && list.contains("VERSION"), "{list}");
        let page = home.json(&["session", "list", "-p", "p1", "--limit", "1"]);
        assert_eq!((&page["items"][0]["session_id"], &page["next_cursor"]), (&json!("talk"), &json!("talk")));
        let other = ["session", "list", "-p", "p1", "--namespace", "other"];
        assert_eq!(home.json(&other)["items"], json!([]));
        home.cardwire(&["session", "get", "-p", "p1", "talk", "--namespace", "other"])
            .failed(3, "session not found");

        assert_eq!(home.ok(&["session", "delete", "-p", "p1", "talk"]), "deleted session talk");
        let gone = home.cardwire(&["session", "get", "-p", "p1", "talk"]);
        gone.failed(3, "session not found");
        assert!(gone.stderr.contains("hint: `cardwire session list --project p1`"), "{gone:?}");
    });
}

/// CP-04..CP-06, ST-09
#[test]
fn a_session_is_compacted_and_put_back() {
    everywhere(|home| {
        patch(home, "talk", &talk()).ok();
        let compact = ["session", "compact", "-p", "p1", "talk"];
        let nobody = home.cardwire(&compact);
        nobody.failed(1, "no summariser is configured");
        assert!(
            nobody.stderr.contains("hint: give a summary of your own with `--summary TEXT`"),
            "{nobody:?}"
        );
        let done = home.ok(&[&compact[..], &["--summary", "We talked.", "--keep", "2"]].concat());
        assert_eq!(done, "a summary stands for 3 messages of session talk, at version 2");
        let nothing = home.ok(&[&compact[..], &["--summary", "Again."]].concat());
        assert_eq!(nothing, "session talk is too short to be compacted");
        let shown = home.json(&["session", "get", "-p", "p1", "talk"]);
        assert_eq!(shown["compression__context"], "We talked.");
        let said: Vec<_> = shown["messages"].as_array().unwrap().iter().map(|one| &one["content"]).collect();
        assert_eq!(said, ["message 0", "message 2", "message 4", "message 6", "message 7"]);

        let memory = shown["memory_box_id"].as_str().unwrap();
        let cards = home.json(&["box", "show", "-p", "p1", memory, "--cards"]);
        let summary = cards.as_array().unwrap().iter().find(|card| card["type"] == "session.summary");
        let summary = summary.unwrap()["card_id"].as_str().unwrap();
        let expand = ["context", "expand", "-p", "p1", summary];
        let expanded = home.ok(&expand);
        assert!(expanded.starts_with("We talked.\n") && expanded.contains("message 5"), "{expanded}");
        assert_eq!(home.json(&expand)["cards"].as_array().unwrap().len(), 3);
        home.cardwire(&["context", "expand", "-p", "p1", ID]).failed(3, "summary not found");

        let list = home.json(&["session", "checkpoints", "-p", "p1", "talk"]);
        let versions: Vec<_> = list["items"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
        assert_eq!(versions, [2, 1]);
        let first = list["items"][1]["checkpoint_id"].as_str().unwrap();
        assert!(home.ok(&["session", "checkpoints", "-p", "p1", "talk"]).contains(first));
        let then = home.json(&["session", "get", "-p", "p1", "talk", "--checkpoint", first]);
        assert_eq!((&then["version"], &then["compression__context"]), (&json!(1), &Value::Null));
        let restored = home.ok(&["session", "restore", "-p", "p1", "talk", first]);
        assert_eq!(restored, "session talk is what it was, at version 3");
        let now = home.json(&["session", "get", "-p", "p1", "talk"]);
        assert_eq!(now["messages"], then["messages"]);
        let unknown = home.cardwire(&["session", "restore", "-p", "p1", "talk", ID]);
        unknown.failed(3, "checkpoint not found");
        assert!(unknown.stderr.contains("hint: `cardwire session checkpoints"), "{unknown:?}");
    });
}

/// API-15, ST-01, ST-02, ST-16
#[test]
fn a_patch_that_cannot_be_is_refused() {
    everywhere(|home| {
        patch(home, "talk", &talk()).ok();
        patch(home, "talk", r#"{"expected_version": 7, "set": {"goal": "x"}}"#).failed(4, "version");
        patch(home, "talk", r#"{"set": {"mood": "good"}}"#).failed(2, "mood");
        patch(home, "talk", r#"{"set": {"messages": []}}"#).failed(2, "messages");
        patch(home, "talk", r#"{"set": {"todo__context": "x"}}"#).failed(2, "todo__context");
        patch(home, "talk", r#"{"messages": {"append": [], "replace": []}}"#).failed(2, "messages");
        patch(home, "talk", r#"{"messages": {"append": [{"role": "system", "content": "x"}]}}"#)
            .failed(2, "messages");
        patch(home, "talk", r#"{"mesages": {}}"#).failed(2, "mesages");
        patch(home, "talk", "a: [").failed(2, "line 1");
        patch(home, "a b", "{}").failed(2, "session_id");
        home.cardwire(&["session", "patch", "-p", "p1", "talk", "--from", "absent.json"])
            .failed(3, "absent.json");
        home.cardwire(&["session", "compact", "-p", "p1", "nope", "--summary", "x"])
            .failed(3, "session not found");
        home.cardwire(&["session", "checkpoints", "-p", "p1", "nope"]).failed(3, "session not found");
        home.cardwire(&["session", "delete", "-p", "p1", "nope"]).failed(3, "session not found");
        home.cardwire(&["session", "list", "-p", "p9"]).failed(3, "project not found");
        let run = home.cardwire(&["session", "patch", "-p", "p1", "talk"]);
        assert_eq!(run.code, 2, "{run:?}");
    });
}

/// EX-01..EX-03
#[test]
fn an_experience_is_noted_saved_and_found_by_the_next_session() {
    everywhere(|home| {
        patch(home, "one", r#"{"set": {"goal": "cross the lake"}}"#).ok();
        let get = ["experience", "get", "-p", "p1", "one"];
        assert_eq!(home.json(&get)["outcome"], "pending");
        home.file(
            "note.yaml",
            "goal: cross the lake\noutcome: success\nsummary: We took the red boat.\ntools: [row]\n",
        );
        let note = ["experience", "note", "-p", "p1", "one", "--from", "note.yaml"];
        assert!(home.ok(&note).contains("We took the red boat."));
        assert_eq!(home.json(&note)["experience"]["tools"], json!(["row"]), "twice is once");
        assert!(home.ok(&get).contains("success"));
        let collect = ["context", "collect", "-p", "p1", "two", "--query", "how to cross a lake"];
        assert!(!home.ok(&collect).contains("red boat"), "nobody has saved it");
        let save = ["experience", "save", "-p", "p1", "one", "--feedback", "well done"];
        assert_eq!(home.ok(&save), "saved the experience of session one");
        assert_eq!(home.json(&save)["saved"], true);
        let found = home.ok(&collect);
        assert!(found.starts_with("experience__context:\n# Experience Context"), "{found}");
        assert!(found.contains("We took the red boat.") && found.contains("well done"), "{found}");
        let apart = home.ok(&[&collect[..], &["--namespace", "other"]].concat());
        assert!(!apart.contains("red boat"), "{apart}");

        home.cardwire(&["experience", "save", "-p", "p1", "nope"]).failed(3, "session not found");
        home.cardwire(&["experience", "get", "-p", "p1", "nope"]).failed(3, "session not found");
        let wrong =
            home.cardwire_with(&["experience", "note", "-p", "p1", "one", "--from", "-"], "outcome: odd");
        wrong.failed(2, "outcome");
    });
}
