//! Tools to which a person must agree, and questions to one.

use super::{
    crew::{calls, crew},
    stage::{Process, Ran, Stage, alone, on_both_stores, text},
};
use crate::support::eventually;
use serde_json::{Value, json};

fn team() -> Value {
    let rules = json!([
        calls("a", 1, &[("publish", json!({ "title": "Boats" }))]),
        { "match": { "agent": "a", "role": "tool", "contains": "\"approved\":false" }, "reply": "It stays in the drawer." },
        { "match": { "agent": "a", "role": "tool" }, "reply": "It is out." },
    ]);
    let mut team = crew("sequential", &["a"], rules);
    team["tools"] = json!([{ "name": "publish", "description": "Publishes.", "approval": "required" }]);
    team["agents"][0]["profile"]["allowed_tools"] = json!(["publish"]);
    team
}

/// Runs the team until it waits, and gives the turn that asks.
fn waiting(stage: &Stage, team: &Value) -> (Ran, String) {
    let ran = stage.run(team, "Publish it.", &[]);
    ran.run.failed(1, "waits for a person");
    let turn = stage.turns_of("a").remove(0);
    assert_eq!(turn["status"], "suspended", "{turn:#}");
    let turn = text(&turn["agent_turn_id"]).to_owned();
    (ran, turn)
}

fn answer(stage: &Stage, turn: &str, words: &[&str]) {
    stage.home.ok(&[&["turn", "answer", turn, "--project", "p1"], words].concat());
}

/// PR-10, WK-08
#[test]
fn a_run_waits_for_an_approval_and_goes_on_with_it() {
    let team = team();
    on_both_stores(|stage| {
        let (ran, turn) = waiting(stage, &team);
        let hint = ran.run.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
        assert!(hint.contains(&format!("cardwire turn answer {turn} --project p1")), "{hint}");
        assert!(hint.contains("--resume") && hint.contains("--yes"), "{hint}");
        // Nothing has happened meanwhile, however often one looks.
        stage.resume(&team, &[]).run.failed(1, "waits for a person");
        stage.home.cardwire(&["turn", "answer", &turn, "--project", "p1"]).failed(2, "publish");
        answer(stage, &turn, &["--approve"]);
        // The same command line as before, and `--resume`, goes on with the same run.
        let again = stage.run(&team, "Publish it.", &["--resume"]);
        assert_eq!(again.deliverable(), "It is out.");
        assert_eq!(stage.turns_of("a").len(), 1);
        stage
            .home
            .cardwire(&["turn", "answer", &turn, "--project", "p1", "--approve"])
            .failed(3, "asks nobody");
    });
}

/// PR-10
#[test]
fn a_model_sees_that_it_was_denied_and_why() {
    let team = team();
    alone(|stage| {
        let (_, turn) = waiting(stage, &team);
        answer(stage, &turn, &["--deny", "--reply", "Not before Monday."]);
        assert_eq!(stage.resume(&team, &[]).deliverable(), "It stays in the drawer.");
        let last = stage.sent("a").pop().unwrap();
        let told = last
            .said_by("tool")
            .into_iter()
            .any(|text| text.contains("denied") && text.contains("Not before Monday."));
        assert!(told, "{last:#?}");
    });
}

#[test]
fn a_run_can_agree_to_everything_from_the_start() {
    let team = team();
    alone(|stage| {
        assert_eq!(stage.run(&team, "Publish it.", &["--yes"]).deliverable(), "It is out.");
    });
}

/// PR-10: the reply is there once.
#[test]
fn a_person_who_is_asked_can_reply_in_words() {
    let rules = json!([
        calls("a", 1, &[("ask_human", json!({ "question": "Which colour?" }))]),
        { "match": { "agent": "a", "role": "tool", "contains": "Red" }, "reply": "Red it is." },
    ]);
    let team = crew("sequential", &["a"], rules);
    alone(|stage| {
        let ran = stage.run(&team, "Paint the boat.", &["--yes"]);
        ran.run.failed(1, "Which colour?");
        let turn = stage.turns_of("a").remove(0);
        answer(stage, text(&turn["agent_turn_id"]), &["--reply", "Red, please."]);
        assert_eq!(stage.resume(&team, &[]).deliverable(), "Red it is.");
        let last = stage.sent("a").pop().unwrap();
        assert_eq!(last.count("Red, please."), 1, "{last:#?}");
    });
}

#[test]
fn without_a_run_there_is_nothing_to_resume() {
    alone(|stage| {
        stage.resume(&team(), &[]).run.failed(3, "the team `crew` has no run");
    });
}

/// API-15, PR-10: a program that started the run learns what is asked, as over HTTP.
#[test]
fn api_15_a_run_that_waits_tells_programs_what_it_asks() {
    let team = team();
    on_both_stores(|stage| {
        let (Ran { told, run }, turn) = waiting(stage, &team);
        assert_eq!((&told["status"], &told["deliverable"]), (&json!("suspended"), &Value::Null), "{run:?}");
        assert_eq!((&told["team"], &told["project_id"]), (&json!("crew"), &json!("p1")));
        assert_eq!((&told["error"], &told["usage"]["calls"]), (&Value::Null, &json!(1)));
        assert_eq!(told["turns"][1]["agent_turn_id"], turn.as_str(), "{told:#}");
        let asked = &told["questions"][0];
        assert_eq!((&asked["kind"], &asked["tool_name"]), (&json!("approval"), &json!("publish")));
        assert_eq!(asked["arguments"], json!({ "title": "Boats" }));
        if let Some(server) = stage.server() {
            let run = text(&told["agent_turn_id"]);
            let list = server.get(&format!("/projects/p1/turns/{run}/questions")).json();
            assert_eq!(told["questions"], list["items"]);
        }
        let again = stage.resume(&team, &[]);
        assert_eq!(again.told["questions"], told["questions"], "{again:?}");
        answer(stage, &turn, &["--approve"]);
        let ended = stage.resume(&team, &[]);
        assert_eq!((ended.deliverable(), &ended.told["questions"]), ("It is out.", &json!([])));
    });
}

/// Which turn a run is.
fn run_of(ran: &Ran) -> &str {
    text(&ran.told["agent_turn_id"])
}

/// API-17, PR-10: a run is gone on with in its own session, whatever goes on in another.
#[test]
fn api_17_a_run_is_resumed_in_the_session_that_is_named() {
    let mut team = team();
    let hello = json!({ "match": { "agent": "a", "role": "user", "contains": "Hello" }, "reply": "Hi." });
    team["model"]["script"]["rules"].as_array_mut().unwrap().insert(0, hello);
    alone(|stage| {
        stage.run(&team, "Hello?", &["--session", "s1"]).deliverable();
        let paused = stage.run(&team, "Publish it.", &["--session", "s2"]);
        paused.run.failed(1, "waits for a person");
        assert!(paused.run.stderr.contains("--resume --session s2 --project p1"), "{paused:?}");
        assert_eq!(stage.resume(&team, &["--session", "s1"]).deliverable(), "Hi.");
        let again = stage.resume(&team, &["--session", "s2"]);
        again.run.failed(1, "waits for a person");
        assert_eq!((run_of(&again), run_of(&stage.resume(&team, &[]))), (run_of(&paused), run_of(&paused)));
        stage.resume(&team, &["--session", "nosuch"]).run.failed(3, "has no run in session `nosuch`");
    });
}

/// PR-10, DP-08: one run of a team at a time; whoever has to wait for a person's word to another run is told.
#[test]
fn pr_10_a_run_behind_one_that_waits_for_a_person_says_so() {
    let team = team();
    on_both_stores(|stage| {
        let paused = stage.run(&team, "Publish it.", &["--session", "s1"]);
        let turn = text(&paused.told["questions"][0]["agent_turn_id"]).to_owned();
        stage.home.file("team.yaml", team.to_string());
        let args =
            ["run", "team.yaml", "Publish more.", "--project", "p1", "--session", "s2", "--yes", "--json"];
        let words = "the run is queued behind one that waits for a person: a wants to call publish";
        if stage.server().is_none() {
            // F-07: nothing is finished first, and paid for, without a word.
            stage.home.cardwire(&args).failed(4, "and has not ended");
            // Nobody else can open the store while it would wait.
            let behind = stage.home.cardwire(&[&args[..], &["--queue"]].concat());
            behind.failed(1, words);
            assert!(behind.stderr.contains(&turn) && behind.stderr.contains("--session s2"), "{behind:?}");
            let told: Value = serde_json::from_str(&behind.stdout).unwrap();
            assert_eq!(told["status"], "queued");
            answer(stage, &turn, &["--approve"]);
            assert_eq!(stage.resume(&team, &["--session", "s2", "--yes"]).deliverable(), "It is out.");
            return;
        }
        let mut behind = Process::start(stage.home.command(&args), &stage.home, "behind.log");
        eventually("the run says that it is queued", || {
            let log = std::fs::read_to_string(stage.home.root().join("behind.log")).unwrap_or_default();
            (log.contains(words) && log.contains(&turn)).then_some(())
        });
        answer(stage, &turn, &["--approve"]);
        assert_eq!(eventually("the run behind it ends", || behind.ended()), 0);
    });
}
