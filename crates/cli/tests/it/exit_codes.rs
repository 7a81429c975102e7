//! Exit codes and error lines (API-15).

use crate::support::{Backend, Home, Run, Server};
use std::sync::Arc;

const ID: &str = "0192f0c123457abc8def0123456789ab";

/// Every check once with a server and once with the embedded store.
fn both_ways(check: impl Fn(&Arc<Home>)) {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    check(&home);
    let server = Server::start(&[]);
    server.home.ok(&["project", "create", "p1"]);
    check(&server.home);
}

/// API-15
#[test]
fn what_cannot_work_as_asked_is_a_usage_error() {
    both_ways(|home| {
        for args in [
            &["frobnicate"][..],
            &["card", "get", "--project", "p1"],
            &["card", "put", "-p", "p1", "--type", "x.y"],
            &["card", "put", "-p", "p1", "--type", "x.y", "--text", "a", "--content-json", "1"],
            &["box", "show", "-p", "p1", ID, "--generation", "1", "--cards"],
            &["token", "create"],
            &["token", "create", "--scope", "god"],
            &["session", "patch", "-p", "p1", "talk"],
            &["session", "get", "-p", "p1"],
            &["context", "compose"],
            &["context", "why", "-p", "p1", ID],
            &["knowledge", "add", "-p", "p1"],
            &["experience", "note", "-p", "p1", "talk"],
            &["turn", "call", "-p", "p1", &format!("turn_{ID}")],
        ] {
            let run = home.cardwire(args);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        }
        home.cardwire(&["card", "get", ID]).failed(2, "no project is given");
        home.cardwire(&["card", "get", "-p", "p1", "nope"]).failed(2, "32 hexadecimal digits");
        home.cardwire(&["card", "get", "-p", "..", ID]).failed(2, "is not a name");
        home.cardwire(&["card", "get", "-p", "a/b", ID]).failed(2, "project_id");
        home.cardwire(&["project", "create", "not a name"]).failed(2, "project_id");
        home.cardwire(&["card", "put", "-p", "p1", "--type", "x.y", "--content-json", "{"])
            .failed(2, "does not hold JSON");
        home.cardwire(&["card", "put", "-p", "p1", "--type", "x.y", "--text", "a", "--role", "king"])
            .failed(2, "role");
        let too_long = "x".repeat((1 << 20) + 1);
        home.cardwire_with(&["card", "put", "-p", "p1", "--type", "x.y", "--file", "-"], &too_long)
            .failed(2, "1048576");
    });
}

/// API-15
#[test]
fn what_is_not_there_is_not_found() {
    both_ways(|home| {
        home.cardwire(&["project", "show", "p9"]).failed(3, "project not found: p9");
        home.cardwire(&["card", "get", "-p", "p1", ID]).failed(3, "none of these cards");
        home.cardwire(&["card", "delete", "-p", "p1", ID]).failed(3, "card not found");
        home.cardwire(&["box", "show", "-p", "p1", ID]).failed(3, "box not found");
        home.cardwire(&["event", "list", "-p", "p9"]).failed(3, "project not found");
        home.cardwire(&["token", "revoke", &format!("tok_{ID}")]).failed(3, "token not found");
        home.cardwire(&["session", "get", "-p", "p1", "nope"]).failed(3, "session not found");
        home.cardwire(&["experience", "get", "-p", "p1", "nope"]).failed(3, "session not found");
        home.cardwire(&["context", "show", "-p", "p1", ID]).failed(3, "call not found");
        home.cardwire(&["knowledge", "add", "-p", "p1", "absent"]).failed(3, "absent");
        home.cardwire(&["card", "put", "-p", "p1", "--type", "x.y", "--file", "absent"]).failed(3, "absent");
    });
}

/// API-15, CB-07
#[test]
fn what_is_there_otherwise_is_a_conflict() {
    both_ways(|home| {
        let put = |text: &str| {
            home.cardwire(&["card", "put", "-p", "p1", "--type", "x.y", "--id", ID, "--text", text])
        };
        put("one").ok();
        let same = put("one");
        assert!(same.stderr.contains("the same card was there already"), "{same:?}");
        put("two").failed(4, "exists with other content");
        home.cardwire(&["project", "create", "p1"]).failed(4, "p1");
    });
}

/// API-15: nothing asks questions; an absent terminal is no reason to wait.
#[test]
fn a_command_without_a_subcommand_shows_help() {
    let home = Home::new(Backend::Sqlite);
    let run: Run = home.cardwire(&[]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("Usage: cardwire"), "{run:?}");
}

/// API-15: whatever the kind of the error and whoever found it.
#[test]
fn every_error_has_one_hint_on_standard_error() {
    let turn = format!("turn_{ID}");
    let batch = format!("batch_{ID}");
    both_ways(|home| {
        home.ok(&["profile", "put", "h", "-p", "p1", "--worker-target", "w", "--system-prompt", "Help."]);
        home.ok(&["agent", "add", "a1", "-p", "p1", "--profile", "h"]);
        let ended = home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "x"]);
        home.ok(&["turn", "stop", "-p", "p1", &ended]);
        let hints = |code: i32, args: &[&str], words: &str| {
            for args in [args.to_vec(), [args, &["--json"]].concat()] {
                let run = home.cardwire(&args);
                assert_eq!(run.code, code, "{args:?}: {run:?}");
                let hints: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("hint: ")).collect();
                assert!(hints.len() == 1 && hints[0].contains(words), "no `{words}` for {args:?}: {run:?}");
                assert!(!run.stdout.contains("hint: "), "{args:?}: {run:?}");
            }
        };
        // Failed.
        hints(1, &["--server", "http://127.0.0.1:1", "project", "list"], "cardwire up");
        hints(1, &["card", "put", "-p", "p1", "--type", "x.y", "--file", "."], "path");
        // Usage: clap's word, our own, the server's.
        hints(2, &["frobnicate"], "`cardwire --help`");
        hints(2, &["card"], "`cardwire card ");
        hints(2, &["card", "frobnicate"], "`cardwire card --help`");
        hints(2, &["card", "get", "-p", "p1"], "`cardwire card get --help`");
        hints(2, &["token", "create", "--scope", "god"], "`cardwire token create --help`");
        hints(2, &["box", "show", "-p", "p1", ID, "--frob"], "`cardwire box show --help`");
        hints(2, &["card", "get", "-p", "p1", "zz"], "`cardwire card get --help`");
        hints(2, &["card", "get", ID], "CARDWIRE_PROJECT");
        hints(2, &["batch", "get", "-p", "p1", "zz"], "`cardwire batch get --help`");
        hints(2, &["project", "create", "not a name"], "`cardwire project create --help`");
        // Not found.
        hints(3, &["box", "show", "-p", "p1", ID], "of this project");
        hints(3, &["card", "get", "-p", "p1", ID], "of this project");
        hints(3, &["card", "put", "-p", "p1", "--type", "x.y", "--file", "absent"], "path");
        hints(3, &["batch", "get", "-p", "p1", &batch], "`cardwire batch list --project p1`");
        hints(3, &["turn", "get", "-p", "p1", &turn], "`cardwire turn list --project p1`");
        hints(3, &["project", "show", "p9"], "`cardwire project list`");
        hints(3, &["session", "get", "-p", "p1", "nope"], "`cardwire session list --project p1`");
        // Conflict.
        hints(4, &["project", "create", "p1"], "`cardwire project show`");
        hints(4, &["turn", "stop", "-p", "p1", &ended], "`cardwire turn get --project p1`");
    });
}
