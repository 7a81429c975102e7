//! Runs and their pages: the line that shows a run, `--open`, and that looking at a store costs nothing.

use super::{
    crew::{calls, crew},
    leaving::hinted,
    stage::{Process, text},
};
use crate::{
    open::{Opened, browse, host},
    support::{Backend, Home, Run, eventually, exchange, send_signal},
};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

/// One agent, which answers after a while.
fn team(delay_ms: u64) -> Value {
    let rules = json!([{ "match": { "agent": "a" }, "reply": "One.", "delay_ms": delay_ms }]);
    crew("sequential", &["a"], rules)
}

fn home_with(team: &Value) -> Arc<Home> {
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", team.to_string());
    home
}

/// What a run says last: how to see it.
#[track_caller]
fn shown_by(run: &Run) -> &str {
    let last = run.stderr.lines().rfind(|line| !line.starts_with("error: ") && !line.starts_with("hint: "));
    let shown = last.and_then(|line| line.strip_suffix("   shows the run in a browser"));
    shown.unwrap_or_else(|| panic!("no page: {run:?}"))
}

#[test]
fn a_run_ends_with_the_line_that_shows_it() {
    let home = home_with(&team(0));
    let data = home.data_dir().display().to_string();
    let ran = home.cardwire(&["run", "team.yaml", "Count.", "--project", "p1", "--data-dir", &data]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let command = shown_by(&ran);
    let run =
        text(&home.json(&["turn", "list", "--agent", "team_crew", "-p", "p1"])["items"][0]["agent_turn_id"])
            .to_owned();
    assert_eq!(command, format!("cardwire open {run} --project p1 --data-dir {data}"));
    let words: Vec<&str> = command.split(' ').collect();
    let opened = Opened::start(&home, &words[2..]);
    assert!(browse(&opened.address).body.contains("Count."));
    // The server works like any other: a run is carried on by it, and its page is there at once.
    let second = home.cardwire(&["run", "team.yaml", "Count again.", "--project", "p1"]);
    assert_eq!(second.code, 0, "{second:?}");
    let page = shown_by(&second);
    assert!(page.starts_with(&format!("http://{}/inspect/p/p1/runs/turn_", host(&opened.address))), "{page}");
    let path = page.split_once(host(&opened.address)).unwrap().1;
    let reply =
        exchange(host(page), format!("GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", host(page)).as_bytes());
    assert_eq!(reply.status, 303, "a stranger is asked to sign in: {reply:?}");
    assert_eq!(opened.end("INT"), 0);
    let told = home.cardwire(&["run", "team.yaml", "Count.", "--project", "p1", "--json"]);
    assert!(told.code == 0 && !told.stderr.contains("in a browser"), "{told:?}");
}

/// A run that failed is looked at more than any other.
#[test]
fn a_run_that_failed_or_waits_says_how_to_see_it() {
    let fails = json!([{ "match": { "agent": "a" }, "error": { "message": "no" } }]);
    let asks = json!([calls("a", 1, &[("ask_human", json!({ "question": "How many?" }))])]);
    for rules in [fails, asks] {
        let home = home_with(&crew("sequential", &["a"], rules));
        let ran = home.cardwire(&["run", "team.yaml", "Count.", "--project", "p1"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(shown_by(&ran).starts_with("cardwire open turn_"), "{ran:?}");
    }
}

/// F-07: a person who looks at a run that was left has not asked for it to be gone on with, and paid for.
#[test]
fn f_07_looking_at_a_store_goes_on_with_no_run() {
    let home = home_with(&team(60_000));
    let mut run = Process::start(home.command(&["run", "team.yaml", "Count.", "-p", "p1"]), &home, "run.log");
    eventually("the agent works", || {
        let database = rusqlite::Connection::open(home.database()).ok()?;
        let running =
            "SELECT count(*) FROM state_agent_state_head WHERE agent_id = 'a' AND status = 'running'";
        let count: i64 = database.query_row(running, [], |row| row.get(0)).ok()?;
        (count == 1).then_some(())
    });
    send_signal(run.id(), "INT");
    assert_eq!(eventually("the run is left", || run.ended()), 1);
    let left = fs::read_to_string(home.root().join("run.log")).unwrap();
    assert!(left.contains("cardwire open turn_") && left.contains("shows the run in a browser"), "{left}");

    let events = || home.ok(&["event", "list", "-p", "p1", "--json"]);
    let before = events();
    let opened = Opened::start(&home, &["-p", "p1"]);
    let said = opened.said();
    assert!(said.contains("note: run turn_") && said.contains("it waits, and no agent runs here"), "{said}");
    let commands = hinted(&said);
    assert!(commands[0].starts_with("cardwire run --resume --session"), "{commands:?}");
    assert!(commands[1].starts_with("cardwire turn stop turn_"), "{commands:?}");
    assert_eq!(browse(&opened.address).status, 200);
    assert_eq!(opened.end("INT"), 0);
    assert_eq!(events(), before, "nothing has happened");
}

/// A run with `--open`, as a process.
struct Growing {
    process: Process,
    home: Arc<Home>,
    address: String,
}

impl Growing {
    fn start(home: &Arc<Home>, more: &[&str]) -> Self {
        let args = [&["run", "team.yaml", "Count.", "-p", "p1", "--open"], more].concat();
        let mut process = Process::start(home.command(&args), home, "run.log");
        let address = eventually("the page is told", || {
            assert!(!process.has_ended(), "{}", said(home));
            let said = said(home);
            Some(said.lines().find(|line| line.contains("#"))?.split(' ').next()?.to_owned())
        });
        Self { process, home: Arc::clone(home), address }
    }

    fn until(&self, words: &str) {
        eventually(words, || said(&self.home).contains(words).then_some(()));
    }

    fn end(mut self) -> (i32, String) {
        send_signal(self.process.id(), "INT");
        let code = eventually("it ends", || self.process.ended());
        (code, said(&self.home))
    }
}

fn said(home: &Home) -> String {
    fs::read_to_string(home.root().join("run.log")).unwrap_or_default()
}

#[test]
fn a_run_is_shown_while_it_grows_and_afterwards() {
    let home = home_with(&team(1_500));
    let run = Growing::start(&home, &[]);
    assert!(run.address.contains("/inspect/login?target=/inspect/p/p1/runs/turn_"), "{}", run.address);
    let page = browse(&run.address);
    assert!(
        page.status == 200 && !said(&home).contains("One."),
        "it is shown before it ends: {}",
        said(&home)
    );
    run.until("its page is served from here until Ctrl-C");
    assert!(said(&home).contains("One."), "{}", said(&home));
    let again = home.json(&["open", "-p", "p1"]);
    assert_eq!(host(again["url"].as_str().unwrap()), host(&run.address));
    let (code, said) = run.end();
    assert_eq!(code, 0, "{said}");
    assert!(!home.server_file().exists());
    // Interrupted while it works, it ends as any run does that is a command's own.
    home.file("team.yaml", team(60_000).to_string());
    fs::remove_file(home.root().join("run.log")).unwrap();
    let (code, said) = Growing::start(&home, &[]).end();
    assert!(
        code == 1 && said.contains("what is done is kept") && said.contains("cardwire open turn_"),
        "{said}"
    );
}

#[test]
fn a_run_that_is_shown_waits_for_the_person_who_looks_at_it() {
    let rules = json!([
        calls("a", 1, &[("ask_human", json!({ "question": "Which colour?" }))]),
        { "match": { "agent": "a", "role": "tool", "contains": "Red" }, "reply": "Red it is." },
    ]);
    let home = home_with(&crew("sequential", &["a"], rules));
    let run = Growing::start(&home, &[]);
    run.until("hint: answer on the page, or ");
    assert!(said(&home).contains("Which colour?"), "{}", said(&home));
    let asked = home.json(&["question", "list", "-p", "p1"]);
    let turn = text(&asked["items"][0]["agent_turn_id"]).to_owned();
    home.ok(&["turn", "answer", &turn, "-p", "p1", "--reply", "Red, please."]);
    run.until("Red it is.");
    run.until("its page is served from here until Ctrl-C");
    let (code, said) = run.end();
    assert_eq!((code, said.matches("Which colour?").count()), (0, 1), "{said}");
}

#[test]
fn a_run_that_is_shown_and_fails_says_so_before_it_is_ended() {
    let fails = json!([{ "match": { "agent": "a" }, "error": { "message": "no" } }]);
    let home = home_with(&crew("sequential", &["a"], fails));
    let run = Growing::start(&home, &[]);
    run.until("its page is served from here until Ctrl-C");
    assert!(said(&home).contains("error: the run ended `failed`"), "{}", said(&home));
    let (code, said) = run.end();
    assert_eq!((code, said.matches("error: ").count()), (1, 1), "{said}");
}

#[test]
fn a_run_on_a_server_is_shown_by_the_server() {
    let home = home_with(&team(0));
    let server = home.up(&[]);
    let ran = home.cardwire(&["run", "team.yaml", "Count.", "-p", "p1", "--open"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let signs_in = ran.stderr.lines().next().unwrap().split(' ').next().unwrap();
    assert_eq!(host(signs_in), server.address());
    assert!(browse(signs_in).body.contains("Count."));
    assert!(shown_by(&ran).starts_with(&format!("{}/inspect/p/p1/runs/turn_", server.url)), "{ran:?}");
}
