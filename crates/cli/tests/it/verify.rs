//! `cardwire verify` and `cardwire doctor` (SEC-05).

use crate::support::{Backend, Home, Server};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

fn home_with_card() -> (Arc<Home>, String) {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let card = home.put_card("true");
    (home, card)
}

fn tamper(home: &Home, statement: &str) {
    let conn = Connection::open(home.database()).unwrap();
    assert_eq!(conn.execute(statement, []).unwrap(), 1, "{statement}");
}

/// SEC-05
#[test]
fn an_untouched_store_verifies_with_and_without_a_server() {
    let (home, _) = home_with_card();
    let report = home.json(&["verify"]);
    assert_eq!((&report["ok"], &report["realms"][1]["cards"]), (&json!(true), &json!(1)));
    let server = home.up(&[]);
    assert!(home.ok(&["verify"]).contains("(system)"));
    drop(server);
}

/// SEC-05
#[test]
fn a_changed_card_is_found_and_named() {
    let (home, card) = home_with_card();
    tamper(&home, r#"UPDATE cards SET content = '"false"'"#);
    let check = || {
        let run = home.cardwire(&["verify"]);
        run.failed(1, "1 bad card, 0 broken audit chains");
        assert!(run.stdout.contains(&format!("p1: card {card} does not match its hash")), "{run:?}");
        let run = home.cardwire(&["verify", "--json"]);
        assert_eq!(run.code, 1);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["realms"][1]["bad_card_ids"], json!([card]));
    };
    check();
    let server = home.up(&[]);
    check();
    drop(server);
}

/// SEC-05
#[test]
fn a_changed_audit_row_breaks_its_chain_at_its_place() {
    let (home, _) = home_with_card();
    home.ok(&["project", "update", "p1", "--title", "One"]);
    tamper(&home, "UPDATE audit SET actor = 'nobody' WHERE project_id = 'p1' AND position = 2");
    let run = home.cardwire(&["verify"]);
    run.failed(1, "0 bad cards, 1 broken audit chain");
    assert!(run.stdout.contains("p1: the audit row at place 2 does not fit the chain"), "{run:?}");
}

/// SEC-05: what cannot be read is told like what was changed, and keeps other projects from nothing.
#[test]
fn a_row_that_cannot_be_read_is_found() {
    let (home, _) = home_with_card();
    home.ok(&["project", "create", "p2"]);
    tamper(&home, "UPDATE cards SET origin = 'x'");
    home.cardwire(&["verify"]).failed(1, "1 bad card, 0 broken audit chains");
    tamper(&home, "UPDATE audit SET action = 'x' WHERE project_id = 'p1' AND position = 1");
    let run = home.cardwire(&["verify"]);
    run.failed(1, "1 bad card, 1 broken audit chain");
    assert!(run.stdout.contains("p1: the audit row at place 1 does not fit the chain"), "{run:?}");
    // What is not sealed yet holds up its own project only.
    tamper(&home, "UPDATE audit SET position = NULL, hash = NULL WHERE project_id = 'p1' AND position = 1");
    home.ok(&["project", "update", "p2", "--title", "Two"]);
    let report: Value = serde_json::from_str(&home.cardwire(&["verify", "--json"]).stdout).unwrap();
    let of = |name: &str| {
        let realms = report["realms"].as_array().unwrap();
        realms.iter().find(|realm| realm["project_id"] == name).unwrap().clone()
    };
    assert_eq!((&of("p2")["sealed"], &of("p2")["unsealed"]), (&json!(2), &json!(0)), "{report:#}");
    assert!(of("p1")["broken_at"].is_u64(), "{report:#}");
}

/// F-36, SEC-05: verification counts and names the damaged cards, and goes on with the cards that are whole.
#[test]
fn verification_goes_on_after_cards_that_cannot_be_read() {
    let (home, first) = home_with_card();
    let cards: Vec<_> = (0..40).map(|n| home.put_card(&n.to_string())).collect();
    let conn = Connection::open(home.database()).unwrap();
    let mut damaged: Vec<_> = cards.iter().step_by(2).skip(3).cloned().collect();
    for card in &damaged {
        let id = card.replace('-', "");
        let spoil = format!("UPDATE cards SET origin = 'x' WHERE card_id = x'{id}'");
        assert_eq!(conn.execute(&spoil, []).unwrap(), 1);
    }
    drop(conn);
    let run = home.cardwire(&["verify", "--json"]);
    assert_eq!(run.code, 1);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let realm = &report["realms"][1];
    assert_eq!((&realm["cards"], &realm["bad_cards"]), (&json!(41), &json!(17)), "{report:#}");
    damaged.sort();
    assert_eq!(realm["bad_card_ids"], json!(damaged));

    let run = home.cardwire(&["card", "get", "-p", "p1", "--json", &first, &damaged[0], &cards[1]]);
    run.failed(1, &format!("what is stored is not what was written: {}", damaged[0]));
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(shown.as_array().unwrap().len(), 2, "{shown}");
}

/// SEC-05
#[test]
fn what_is_not_sealed_yet_is_said() {
    let (home, _) = home_with_card();
    // As a crash between a commit and its sealing would leave it.
    tamper(&home, "UPDATE audit SET position = NULL, hash = NULL WHERE project_id = 'p1' AND position = 1");
    let run = home.cardwire(&["verify"]);
    assert!(run.stderr.contains("note: 1 audit row is not sealed yet"), "{run:?}");
    assert_eq!(run.code, 0);
    assert_eq!(home.cardwire(&["verify"]).stderr, "", "the command before has sealed it");
}

#[test]
fn doctor_is_content_with_a_healthy_server_and_without_one() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    let report = home.json(&["doctor"]);
    assert_eq!(report["ok"], json!(true));
    assert!(home.ok(&["doctor"]).contains(&format!("ok    server: process {}", server.pid())));
    assert_eq!(server.terminate().code(), Some(0));
    let text = home.ok(&["doctor"]);
    assert!(text.lines().all(|line| line.starts_with("ok  ")), "{text}");
}

/// SEC-01
#[test]
fn doctor_finds_a_token_that_others_can_read() {
    let (home, _) = home_with_card();
    let path = home.data_dir().join("admin.token");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let run = home.cardwire(&["doctor"]);
    run.failed(1, "1 check failed");
    assert!(run.stdout.contains("fail  token file: ") && run.stdout.contains("chmod 600"), "{run:?}");
}

#[test]
fn doctor_finds_nothing_where_nothing_is() {
    let home = Home::new(Backend::Sqlite);
    let run = home.cardwire(&["doctor"]);
    run.failed(1, "2 checks failed");
    assert!(!home.data_dir().exists());
}
