//! Leaving a run: Ctrl-C on a terminal and without one, with a server and without. Each says what to do next, and doing it
//! works.

use super::{
    crew::crew,
    stage::{Process, text},
};
use crate::support::{Backend, Home, Run, Server, eventually, send_signal};
use serde_json::{Value, json};
use std::{path::Path, process::Command, sync::Arc};

/// Long enough to be interrupted, and not longer.
const DELAY_MS: u64 = 1_500;

/// Two agents, one after the other.
fn slow_team() -> Value {
    let says = |agent: &str, reply: &str| json!({ "match": { "agent": agent }, "reply": reply, "delay_ms": DELAY_MS });
    crew("sequential", &["a", "b"], json!([says("a", "One."), says("b", "Two.")]))
}

fn home_with_team() -> Arc<Home> {
    let home = Home::new(Backend::Sqlite);
    home.file("my team.yaml", slow_team().to_string());
    home
}

const RUN: [&str; 7] = ["run", "my team.yaml", "Count.", "--project", "p1", "--session", "s1"];

/// The commands between backticks of the hint.
pub(super) fn hinted(output: &str) -> Vec<String> {
    let hint =
        output.lines().find(|line| line.contains("hint: ")).unwrap_or_else(|| panic!("no hint: {output}"));
    let commands = hint.split('`').skip(1).step_by(2).filter(|piece| piece.starts_with("cardwire "));
    commands.map(str::to_owned).collect()
}

/// Pastes a command into a shell.
pub(super) fn paste(home: &Home, command: &str) -> Run {
    let binary = Path::new(env!("CARGO_BIN_EXE_cardwire"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(home.root());
    for (name, value) in home.command(&[]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    Run::of(
        {
            shell.env("PATH", path);
            shell
        },
        "",
    )
}

/// Waits until the first agent has spoken.
fn until_it_works(home: &Home) {
    eventually("the run works", || {
        let log = std::fs::read_to_string(home.root().join("run.log")).unwrap_or_default();
        assert!(!log.contains("error: "), "{log}");
        let list =
            home.cardwire(&["turn", "list", "--agent", "a", "--status", "running", "-p", "p1", "--json"]);
        let list: Value = serde_json::from_str(&list.stdout).ok()?;
        list["items"].get(0).is_some().then_some(())
    });
}

/// Starts the run, sends it a signal while it works, and gives how it ended and what it said.
fn interrupted(home: &Arc<Home>, signal: &str, until: impl Fn()) -> (i32, String) {
    let mut run = Process::start(home.command(&RUN), home, "run.log");
    until();
    send_signal(run.id(), signal);
    let code = eventually("the command ends", || run.ended());
    (code, std::fs::read_to_string(home.root().join("run.log")).unwrap())
}

fn run_of(server: &Server) -> Value {
    server.get("/projects/p1/turns?agent_id=team_crew").json()["items"][0].clone()
}

/// F-06: without a terminal nobody can be asked, and stopping is what cannot be taken back.
#[test]
fn f_06_a_run_on_a_server_goes_on_when_its_watcher_is_interrupted() {
    let home = home_with_team();
    let server = home.up(&[]);
    for signal in ["INT", "TERM"] {
        let (code, said) = interrupted(&home, signal, || until_it_works(&home));
        let turn = text(&run_of(&server)["agent_turn_id"]).to_owned();
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains(&format!("error: interrupted; run {turn} goes on at {}", server.url)),
            "{said}"
        );
        let commands = hinted(&said);
        assert_eq!(commands[0], "cardwire run 'my team.yaml' --resume --session s1 --project p1");
        assert_eq!(commands[1], format!("cardwire turn stop {turn} --project p1"));
        let watched = paste(&home, &commands[0]);
        assert!(watched.ok().contains("Two."), "the run has come to its end");
        std::fs::remove_file(home.root().join("run.log")).unwrap();
    }
}

/// F-06: what is said to stop the run stops it.
#[test]
fn f_06_a_run_that_was_left_can_be_stopped() {
    let home = home_with_team();
    let server = home.up(&[]);
    let (_, said) = interrupted(&home, "INT", || until_it_works(&home));
    paste(&home, &hinted(&said)[1]).ok();
    assert_eq!(
        (&run_of(&server)["status"], &run_of(&server)["error"]),
        (&json!("failed"), &json!("stopped"))
    );
}

/// F-06: on a terminal the person says what is meant.
#[test]
fn f_06_on_a_terminal_ctrl_c_asks_what_is_to_become_of_the_run() {
    let home = home_with_team();
    let server = home.up(&[]);
    const ASKS: &str = "[s]top it, [l]eave it running, or [w]atch on?";
    // The first look at the run shows the agent.
    let interrupt = ("running", "\u{3}");

    let stopped = home.on_terminal(&RUN, &[interrupt, (ASKS, "s\n")]);
    assert_eq!(stopped.code, 1, "{stopped:?}");
    assert!(stopped.stdout.contains("the run ended `failed`: stopped"), "{stopped:?}");
    assert_eq!(run_of(&server)["error"], "stopped");

    let watched = home.on_terminal(&RUN, &[interrupt, (ASKS, "what?\n"), (ASKS, "w\n")]);
    assert_eq!(watched.code, 0, "{watched:?}");
    assert!(watched.stdout.contains("Two."), "{watched:?}");

    for leave in ["l\n", "\u{3}", "\u{4}"] {
        let left = home.on_terminal(&RUN, &[interrupt, (ASKS, leave)]);
        assert_eq!(left.code, 1, "{left:?}");
        assert!(left.stdout.contains("goes on at"), "{left:?}");
        let status = text(&run_of(&server)["status"]).to_owned();
        assert!(["suspended", "running"].contains(&status.as_str()), "{status}");
        paste(&home, &hinted(&left.stdout)[0]).ok();
    }
}

/// F-06, F-07: alone the run is this command's; it ends in order and is gone on with.
#[test]
fn f_06_a_run_of_ones_own_ends_in_order_and_is_gone_on_with() {
    let home = home_with_team();
    for signal in ["INT", "TERM"] {
        // Nobody else can look into the store: the run's own view tells nothing without a terminal, so its lock does.
        let (code, said) = interrupted(&home, signal, || {
            eventually("the first agent works", || {
                let database = rusqlite::Connection::open(home.database()).ok()?;
                let running =
                    "SELECT count(*) FROM state_agent_state_head WHERE agent_id = 'a' AND status = 'running'";
                let count: i64 = database.query_row(running, [], |row| row.get(0)).ok()?;
                (count == 1).then_some(())
            });
        });
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("what is done is kept") && !said.contains("goes on at"), "{said}");
        let commands = hinted(&said);
        assert_eq!(commands[0], "cardwire run 'my team.yaml' --resume --session s1 --project p1");
        let resumed = paste(&home, &commands[0]).ok();
        assert!(resumed.contains("Two."), "{resumed}");
        std::fs::remove_file(home.root().join("run.log")).unwrap();
    }
}

/// F-06, API-15: programs get the run as it stands.
#[test]
fn f_06_an_interrupted_run_is_told_to_programs_as_it_stands() {
    let home = home_with_team();
    let server = home.up(&[]);
    let command = home.command(&[&RUN[..], &["--json"]].concat());
    let mut run = Process::start(command, &home, "run.log");
    until_it_works(&home);
    send_signal(run.id(), "INT");
    assert_eq!(eventually("the command ends", || run.ended()), 1);
    let said = std::fs::read_to_string(home.root().join("run.log")).unwrap();
    let told: Value = said.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap();
    assert_eq!((&told["deliverable"], &told["session_id"]), (&Value::Null, &json!("s1")), "{said}");
    assert_eq!(
        (&told["agent_turn_id"], &told["status"]),
        (&run_of(&server)["agent_turn_id"], &json!("suspended"))
    );
}
