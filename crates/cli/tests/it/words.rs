//! Help, completions, colours, pipes (API-15).

use crate::support::{Backend, Home, Run, Server};
use std::process::Stdio;

#[test]
fn every_command_has_help() {
    let home = Home::new(Backend::Sqlite);
    for command in [
        "up",
        "project",
        "token",
        "card",
        "box",
        "profile",
        "tool",
        "recipe",
        "team",
        "plan",
        "pmo",
        "agent",
        "turn",
        "batch",
        "session",
        "context",
        "knowledge",
        "experience",
        "event",
        "audit",
        "verify",
        "doctor",
        "bench",
        "completions",
    ] {
        let help = home.ok(&[command, "--help"]);
        assert!(help.contains("Usage: cardwire ") && help.contains("--data-dir"), "{help}");
    }
    assert!(home.ok(&["--version"]).starts_with("cardwire "));
}

/// SEC-03
#[test]
fn help_tells_where_secrets_go_and_shows_none() {
    let home = Home::new(Backend::Sqlite);
    let mut command = home.command(&["up", "--help"]);
    command.env("CARDWIRE_STORE", "postgres://me:hunter2@localhost/db");
    let help = Run::of(command, "").ok();
    assert!(help.contains("CARDWIRE_STORE") && !help.contains("hunter2"), "{help}");
    assert!(help.contains("CARDWIRE_EMBEDDINGS_KEY") && !help.contains("--embeddings-key"), "{help}");
}

#[test]
fn completions_are_made_for_every_shell() {
    let home = Home::new(Backend::Sqlite);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = home.ok(&["completions", shell]);
        assert!(script.contains("provenance") && script.contains("why-not"), "{shell}");
    }
}

/// API-15
#[test]
fn no_color_goes_before_a_wish_for_colours() {
    let home = Home::new(Backend::Sqlite);
    let stderr = |variables: &[(&str, &str)]| {
        let mut command = home.command(&["project", "list"]);
        command.envs(variables.iter().copied());
        Run::of(command, "").stderr
    };
    assert!(stderr(&[("CLICOLOR_FORCE", "1")]).starts_with("\u{1b}["), "colours can be asked for");
    assert!(stderr(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).starts_with("error: "));
    assert!(stderr(&[]).starts_with("error: "), "this is no terminal");
}

/// API-15
#[test]
fn a_reader_that_leaves_is_no_failure() {
    let server = Server::start(&[]);
    let home = &server.home;
    home.ok(&["project", "create", "p1"]);
    for args in [
        &["completions", "bash"][..],
        &["project", "list"],
        &["event", "tail", "-f", "-p", "p1"],
        &["--help"],
    ] {
        let mut command = home.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}
