//! `cardwire card` (CB-21, CB-10, SEC-09).

use crate::support::{Backend, Home};
use serde_json::{Value, json};
use std::sync::Arc;

const MISSING: &str = "0192f0c123457abc8def0123456789ab";

fn home() -> Arc<Home> {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    home
}

fn contents(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|card| card["content"].as_str().unwrap()).collect()
}

/// CB-21
#[test]
fn cards_come_in_the_order_asked_for_with_repeats_and_without_gaps() {
    let home = home();
    let [a, b, c] = ["a", "b", "c"].map(|text| home.put_card(text));
    let run = home.cardwire(&["card", "get", &a, &b, &a, &c, MISSING, "--project", "p1", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, &*format!("missing: {MISSING}\n")));
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(contents(&found), ["a", "b", "a", "c"]);

    let table = home.cardwire(&["card", "get", &b, &a, &b, "--project", "p1"]);
    let rows: Vec<&str> = table.stdout.lines().skip(1).map(|line| &line[line.len() - 1..]).collect();
    assert_eq!(rows, ["b", "a", "b"], "{table:?}");
}

/// CB-21
#[test]
fn more_ids_than_one_batch_takes_are_read_in_parts() {
    let home = home();
    let ids: Vec<String> = (0..3).map(|n| home.put_card(&n.to_string())).collect();
    let gaps: Vec<String> = (0..150).map(|n| format!("{n:032x}")).collect();
    let mut asked: Vec<&str> = vec![&ids[2]];
    asked.extend(gaps.iter().map(String::as_str));
    asked.extend([&*ids[0], &ids[1], &ids[2]]);
    let found = home.json(&[&["card", "get", "-p", "p1"], &asked[..]].concat());
    assert_eq!(contents(&found), ["2", "0", "1", "2"]);
}

/// CB-10
#[test]
fn a_deleted_card_is_missing_unless_asked_for() {
    let home = home();
    let card = home.put_card("gone");
    assert_eq!(home.ok(&["card", "delete", "-p", "p1", &card]), format!("deleted card {card}"));
    let run = home.cardwire(&["card", "get", "-p", "p1", &card]);
    run.failed(3, "none of these cards");
    assert!(run.stderr.contains(&format!("missing: {card}")), "{run:?}");
    let found = home.json(&["card", "get", "-p", "p1", &card, "--include-deleted"]);
    assert_eq!(contents(&found), ["gone"]);
    assert!(found[0]["deleted_at"].is_string(), "{found}");
    assert!(home.ok(&["card", "get", "-p", "p1", &card, "--include-deleted"]).contains("(deleted) gone"));
}

#[test]
fn content_is_a_text_a_json_value_or_a_file() {
    let home = home();
    let put = |args: &[&str], input: &str| {
        let args = [&["card", "put", "-p", "p1", "--type", "x.y", "--json"], args].concat();
        serde_json::from_str::<Value>(&home.cardwire_with(&args, input).ok()).unwrap()["content"].clone()
    };
    assert_eq!(put(&["--text", "-5 ☃"], ""), "-5 ☃");
    assert_eq!(put(&["--content-json", r#"{"n":9223372036854775807}"#], ""), json!({ "n": i64::MAX }));
    assert_eq!(put(&["--file", "-"], "[1]"), "[1]");
    assert_eq!(put(&["--file", "-", "--as-json"], "[1]"), json!([1]));
    std::fs::write(home.root().join("note.txt"), "from a file\n").unwrap();
    assert_eq!(put(&["--file", "note.txt"], ""), "from a file\n");
}

#[test]
fn what_a_card_says_of_itself_is_kept() {
    let home = home();
    let card = home.json(&[
        "card",
        "put",
        "-p",
        "p1",
        "--type",
        "x.y",
        "--role",
        "assistant",
        "--author",
        "agent_x",
        "--id",
        MISSING,
        "--ttl",
        "60",
        "--text",
        "hi",
    ]);
    assert_eq!((&card["card_id"], &card["role"]), (&json!(MISSING), &json!("assistant")));
    assert_eq!((&card["author_id"], &card["ttl_seconds"]), (&json!("agent_x"), &json!(60)));
}

#[test]
fn a_card_can_go_straight_into_a_box() {
    let home = home();
    let card_box = home.ok(&["box", "create", "-p", "p1"]);
    let put = ["card", "put", "-p", "p1", "--type", "x.y", "--text", "hi", "--box"];
    let card = home.ok(&[&put[..], &[&card_box]].concat());
    assert_eq!(home.json(&["box", "show", "-p", "p1", &card_box])["card_ids"], json!([card]));
    let lost = home.cardwire(&[&put[..], &[MISSING]].concat());
    lost.failed(3, "was written, but not added to box");
}

/// SEC-09
#[test]
fn a_credential_is_hidden_from_people_and_kept_for_programs() {
    let home = home();
    let secret = "sk-abcdefghijklmnopqrstuvwxyz";
    let run = home.cardwire(&["card", "put", "-p", "p1", "--type", "x.y", "--text", secret]);
    assert!(run.stderr.contains("looks like a credential"), "{run:?}");
    let card = run.ok();
    let card_box = home.ok(&["box", "create", "-p", "p1", &card]);
    for args in [&["card", "get", "-p", "p1", &card][..], &["box", "show", "-p", "p1", &card_box, "--cards"]]
    {
        let shown = home.ok(args);
        assert!(shown.contains("[redacted: looks like a credential]") && !shown.contains("sk-"), "{shown}");
    }
    assert_eq!(contents(&home.json(&["card", "get", "-p", "p1", &card])), [secret]);
}

#[test]
fn content_cannot_steer_the_terminal_and_stays_on_its_line() {
    let home = home();
    let card = home.put_card(&format!("one\ntwo\u{1b}[2J{}", "x".repeat(500)));
    let mut command = home.command(&["card", "get", "-p", "p1", &card]);
    command.env("COLUMNS", "120");
    let shown = crate::support::Run::of(command, "").ok();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 120), "{shown}");
}
