//! Runs that have not ended: a server that dies under them, who names them, and that no new query pays for them unasked.

use super::{
    crew::{calls, crew, says},
    leaving::{hinted, paste},
    stage::{Process, alone, on_a_server, text},
};
use crate::support::{Backend, Home, Run, eventually};
use serde_json::{Value, json};
use std::sync::Arc;

/// The first agent answers at once; the second asks a person, and so the run does not end by itself.
fn team() -> Value {
    let rules = json!([
        says("a", "One."),
        calls("b", 1, &[("ask_human", json!({ "question": "How many?" }))]),
        { "match": { "agent": "b", "role": "tool" }, "reply": "Done." },
    ]);
    crew("sequential", &["a", "b"], rules)
}

fn home_with(team: &Value) -> Arc<Home> {
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", team.to_string());
    home
}

fn asked_of_b(home: &Home) -> Option<String> {
    let list = home.cardwire(&["question", "list", "-p", "p1", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).ok()?;
    Some(text(&list["items"].get(0)?["tool_call_id"]).to_owned())
}

/// F-07: the server is killed under a run; what is said works.
#[test]
fn f_07_a_run_whose_server_dies_says_how_to_go_on_and_that_works() {
    let slow = json!([
        { "match": { "agent": "a" }, "reply": "One." },
        { "match": { "agent": "b" }, "reply": "Two.", "delay_ms": 2_000 },
    ]);
    let home = home_with(&crew("sequential", &["a", "b"], slow));
    let server = home.up(&[]);
    let command = home.command(&["run", "team.yaml", "Count.", "-p", "p1", "--session", "s1"]);
    let mut run = Process::start(command, &home, "run.log");
    eventually("the second agent works", || {
        let list = server.get("/projects/p1/turns?agent_id=b&status=running").json();
        list["items"].get(0).map(drop)
    });
    server.kill();
    assert_eq!(eventually("the command ends", || run.ended()), 1);
    let said = std::fs::read_to_string(home.root().join("run.log")).unwrap();
    assert!(
        said.contains("trying again for 10 s")
            && said.contains("the server is gone in the middle of run turn_"),
        "{said}"
    );
    let commands = hinted(&said);
    assert_eq!(commands[0], "cardwire up");
    assert_eq!(commands[1], "cardwire run team.yaml --resume --session s1 --project p1");
    // Without a server it waits, and is named with what goes on with it.
    let doctor = home.ok(&["doctor"]);
    let line = doctor.lines().find(|line| line.starts_with("warn  run: ")).unwrap();
    for word in ["team `crew`", "project `p1`", "session `s1`", "turn_", "began at 20", "nobody works on it"]
    {
        assert!(line.contains(word), "no `{word}` in {line}");
    }
    assert!(line.contains("`cardwire run --resume --session s1 --project p1`"), "{line}");
    // A server that starts names it, too, and goes on with it.
    let server = home.up(&[]);
    let log = eventually("the server names the run", || {
        Some(server.log()).filter(|log| log.contains("has not ended"))
    });
    let line = log.lines().find(|line| line.contains("has not ended")).unwrap();
    assert!(
        line.contains("cardwire run --resume --session s1 --project p1") && line.contains("s1"),
        "{line}"
    );
    assert!(paste(&home, &commands[1]).ok().contains("Two."));
    let doctor = home.ok(&["doctor"]);
    assert!(doctor.contains("runs: all have ended"), "{doctor}");
}

/// F-07: a server that comes back is found again by whoever watches.
#[test]
fn f_07_a_run_is_watched_on_when_the_server_comes_back() {
    let slow = json!([{ "match": { "agent": "a" }, "reply": "One.", "delay_ms": 1_500 }]);
    let home = home_with(&crew("sequential", &["a"], slow));
    let server = home.up(&[]);
    let mut run = Process::start(home.command(&["run", "team.yaml", "Count.", "-p", "p1"]), &home, "run.log");
    eventually("the agent works", || {
        let list = server.get("/projects/p1/turns?agent_id=a&status=running").json();
        list["items"].get(0).map(drop)
    });
    server.kill();
    let _server = home.up(&[]);
    assert_eq!(eventually("the run ends", || run.ended()), 0);
    let said = std::fs::read_to_string(home.root().join("run.log")).unwrap();
    assert!(said.contains("trying again") && said.contains("One."), "{said}");
}

/// F-07: in the embedded store nothing of the project is finished, and paid for, without a word.
#[test]
fn f_07_a_new_query_does_not_finish_an_old_run_unasked() {
    let team = team();
    alone(|stage| {
        let paused = stage.run(&team, "Count.", &["--session", "s1"]);
        paused.run.failed(1, "waits for a person");
        let turns = stage.turns().len();
        for session in [&["--session", "s1"][..], &["--session", "s2"], &[]] {
            let refused = stage.run(&team, "Again.", session).run;
            refused.failed(4, "and has not ended");
            assert!(
                refused.stderr.contains("session `s1`") && refused.stderr.contains("--queue"),
                "{refused:?}"
            );
            let commands = hinted(&refused.stderr);
            assert_eq!(commands[0], "cardwire run team.yaml --resume --session s1 --project p1");
            assert!(commands[1].starts_with("cardwire turn stop turn_"), "{commands:?}");
            assert_eq!(stage.turns().len(), turns, "nothing was started");
        }
        // Another team of the project would be gone on with as well; another project's is nobody's business.
        let mut other = crew("sequential", &["x"], json!([says("x", "Mine.")]));
        other["name"] = "others".into();
        let refused = stage.run(&other, "Who?", &[]).run;
        refused.failed(4, "of team `crew`");
        assert_eq!(
            hinted(&refused.stderr)[0],
            "cardwire run --resume --session s1 --project p1",
            "{refused:?}"
        );
        stage.home.file("other.yaml", other.to_string());
        assert!(stage.home.ok(&["run", "other.yaml", "Who?", "-p", "p2"]).contains("Mine."));
        assert_eq!(stage.turns().len(), turns, "and of project p1 nothing was gone on with");
        // Giving it up makes room.
        let stop = hinted(&stage.run(&team, "Again.", &[]).run.stderr).remove(1);
        paste(&stage.home, &stop).ok();
        assert!(stage.run(&other, "Who?", &[]).deliverable() == "Mine.");
        let asked = stage.turns_of("b");
        assert_eq!(asked.len(), 1, "what was given up is not gone on with: {asked:#?}");
    });
}

/// F-07: with a server only the order within a conversation is at stake.
#[test]
fn f_07_on_a_server_a_query_of_the_same_session_is_refused_and_another_is_queued() {
    let team = team();
    on_a_server(|stage, _server| {
        stage.run(&team, "Count.", &["--session", "s1"]).run.failed(1, "waits for a person");
        stage.run(&team, "Again.", &["--session", "s1"]).run.failed(4, "and has not ended");
        let args = ["run", "team.yaml", "Else.", "-p", "p1", "--session", "s2"];
        let mut behind = Process::start(stage.home.command(&args), &stage.home, "behind.log");
        let said = eventually("it says behind which", || {
            let log = std::fs::read_to_string(stage.home.root().join("behind.log")).unwrap_or_default();
            log.contains("session `s1` comes first").then_some(log)
        });
        assert!(said.contains("note: "), "{said}");
        let question = asked_of_b(&stage.home).unwrap();
        stage.home.ok(&["question", "answer", &question, "-p", "p1", "--reply", "Two."]);
        // The run behind it asks as well, and ends for that.
        assert_eq!(eventually("the run behind it has its turn", || behind.ended()), 1);
    });
}

/// F-07: neither the file nor the session needs to be known.
#[test]
fn f_07_a_run_is_gone_on_with_by_its_project() {
    let team = team();
    alone(|stage| {
        let resume =
            |more: &[&str]| stage.home.cardwire(&[&["run", "--resume", "-p", "p1"][..], more].concat());
        resume(&[]).failed(3, "no run of project `p1` has not ended");
        stage.run(&team, "Count.", &["--session", "s1"]).run.failed(1, "waits for a person");
        resume(&["--session", "s2"]).failed(3, "has not ended");
        resume(&[]).failed(1, "the run waits for a person: b asks: How many?");
        let mut other = crew(
            "sequential",
            &["x"],
            json!([calls("x", 1, &[("ask_human", json!({ "question": "Who?" }))])]),
        );
        other["name"] = "others".into();
        stage.run(&other, "Ask.", &["--session", "s3", "--queue"]).run.failed(1, "Who?");
        let several = resume(&[]);
        several.failed(2, "2 runs of project `p1` have not ended");
        assert_eq!(hinted(&several.stderr).len(), 2, "{several:?}");
        let question = asked_of_b(&stage.home).unwrap();
        stage.home.ok(&["question", "answer", &question, "-p", "p1", "--reply", "Two."]);
        assert!(resume(&["--session", "s1"]).ok().contains("Done."));
        let bare: Run = stage.home.cardwire(&["run", "--resume"]);
        bare.failed(2, "no project is given");
    });
}
