//! Runs that wait for a person, over HTTP (PR-10).

use super::{
    crew::{calls, crew, says},
    stage::{on_a_server, on_both_servers, text},
};
use crate::support::{Server, eventually};
use serde_json::{Value, json};

const RUN: &str = "/projects/p1/teams/crew:run";

fn with_team(server: &Server, team: &Value) {
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    let put = server.request("PUT", "/projects/p1/teams/crew", &team.to_string());
    assert_eq!(put.status, 201, "{put:?}");
}

/// Answers a question with what it was told about itself, and nothing else.
fn answer(server: &Server, question: &Value, result: &Value) {
    let body = json!({
        "agent_id": question["agent_id"], "agent_turn_id": question["agent_turn_id"],
        "turn_epoch": question["turn_epoch"], "tool_call_id": question["tool_call_id"],
        "status": "success", "result": result,
    });
    let answered = server.post("/projects/p1/l0/reports", body);
    assert_eq!(answered.status, 200, "{answered:?}");
}

fn ended(server: &Server, turn: &str) -> Value {
    eventually("the turn ends", || {
        let turn = server.get(&format!("/projects/p1/turns/{turn}")).json();
        turn["ended_at"].is_string().then_some(turn)
    })
}

/// Who said what in a session, without what is told of the ends of members.
fn said(server: &Server, session: &str) -> Vec<(String, String)> {
    let session = server.get(&format!("/projects/p1/sessions/{session}")).json();
    let messages = session["messages"].as_array().unwrap().iter();
    let said = messages.map(|one| (text(&one["role"]).to_owned(), text(&one["content"]).to_owned()));
    said.filter(|(_, words)| !words.starts_with("【RESULT】")).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(role, words)| ((*role).to_owned(), (*words).to_owned())).collect()
}

fn asking() -> Value {
    json!([
        calls("a", 1, &[("ask_human", json!({ "question": "Which colour?" }))]),
        { "match": { "agent": "a", "role": "tool", "contains": "Red" }, "reply": "Red it is." },
        says("b", "Painted."),
    ])
}

/// PR-10: the run pauses with what it asks, and the reply is in the session once, as a human message.
#[test]
fn a_run_pauses_with_its_question_and_the_reply_is_remembered_once() {
    on_both_servers(|_, server| {
        with_team(server, &crew("sequential", &["a"], asking()));
        let body = json!({ "query": "Paint the boat.", "session_id": "s1", "wait_ms": 30_000 });
        let paused = server.post(RUN, body).json();
        assert_eq!((&paused["status"], &paused["deliverable"]), (&json!("suspended"), &Value::Null));
        let questions = paused["questions"].as_array().unwrap();
        assert_eq!(questions.len(), 1, "{paused:#}");
        let asked = &questions[0];
        assert_eq!((&asked["kind"], &asked["question"]), (&json!("ask_human"), &json!("Which colour?")));
        assert_eq!((&asked["agent_id"], &asked["tool_name"]), (&json!("a"), &Value::Null));
        let run = text(&paused["agent_turn_id"]);
        // The same may be read later, of the run or of the turn that asks.
        for turn in [run, text(&asked["agent_turn_id"])] {
            let list = server.get(&format!("/projects/p1/turns/{turn}/questions")).json();
            assert_eq!(list["items"], paused["questions"]);
        }
        answer(server, asked, &json!({ "reply": "Red, please." }));
        assert_eq!(ended(server, run)["status"], "success");
        assert_eq!(server.get(&format!("/projects/p1/turns/{run}/questions")).json()["items"], json!([]));
        let expected = [("human", "Paint the boat."), ("human", "Red, please."), ("ai", "Red it is.")];
        assert_eq!(said(server, "s1"), pairs(&expected));
    });
}

/// PR-10: in a round that others follow, the reply is there for them.
#[test]
fn those_who_come_next_know_what_a_person_said() {
    on_a_server(|stage, server| {
        with_team(server, &crew("sequential", &["a", "b"], asking()));
        let body = json!({ "query": "Paint the boat.", "session_id": "s1", "wait_ms": 30_000 });
        let paused = server.post(RUN, body).json();
        answer(server, &paused["questions"][0], &json!("Red, please."));
        assert_eq!(ended(server, text(&paused["agent_turn_id"]))["status"], "success");
        // F-11: the question comes first, whatever was said on the way.
        let expected = [
            ("human", "Paint the boat."),
            ("human", "Red, please."),
            ("ai", "Red it is."),
            ("ai", "Painted."),
        ];
        assert_eq!(said(server, "s1"), pairs(&expected));
        assert_eq!(stage.only_sent("b").count("Red, please."), 1);
    });
}

/// PR-10: an approval says which call it is about, and an agent's own turn remembers what was decided, too.
#[test]
fn an_approval_names_the_call_and_the_word_of_the_person_is_remembered() {
    let rules = json!([
        calls("a", 1, &[("publish", json!({ "title": "Boats" }))]),
        { "match": { "agent": "a", "role": "tool" }, "reply": "It stays in the drawer." },
        says("a", "Hello."),
    ]);
    let mut team = crew("sequential", &["a"], rules);
    team["tools"] = json!([{ "name": "publish", "description": "Publishes.", "approval": "required" }]);
    team["agents"][0]["profile"]["allowed_tools"] = json!(["publish"]);
    on_a_server(|stage, server| {
        with_team(server, &team);
        let waited = server.post(RUN, json!({ "query": "Publish it.", "wait_ms": 30_000 })).json();
        answer(server, &waited["questions"][0], &json!({ "approved": false }));
        ended(server, text(&waited["agent_turn_id"]));
        let args = [
            "turn",
            "dispatch",
            "--agent",
            "a",
            "--text",
            "Publish it again.",
            "--session",
            "s2",
            "--project",
            "p1",
        ];
        let turn = stage.home.json(&args);
        let turn = text(&turn["agent_turn_id"]);
        let asked = eventually("the turn asks", || {
            let list = server.get(&format!("/projects/p1/turns/{turn}/questions")).json();
            list["items"].get(0).cloned()
        });
        assert_eq!(
            (&asked["kind"], &asked["tool_name"], &asked["arguments"]),
            (&json!("approval"), &json!("publish"), &json!({ "title": "Boats" }))
        );
        assert_eq!(asked["tool_call_id"], format!("approval_{}", text(&asked["approves_tool_call_id"])));
        answer(server, &asked, &json!({ "approved": false }));
        assert_eq!(ended(server, turn)["status"], "success");
        let expected = [
            ("human", "Publish it again."),
            ("human", "I do not agree to publish."),
            ("ai", "It stays in the drawer."),
        ];
        assert_eq!(said(server, "s2"), pairs(&expected));
    });
}

/// PR-10: a turn without questions has none, and one that is not there is not found.
#[test]
fn a_run_that_asks_nobody_has_no_questions() {
    on_a_server(|_, server| {
        with_team(server, &crew("sequential", &["a"], json!([says("a", "Seven.")])));
        let waited = server.post(RUN, json!({ "query": "How many?", "wait_ms": 30_000 })).json();
        assert_eq!(waited["questions"], json!([]));
        let turn = format!("turn_{}", "0".repeat(32));
        assert_eq!(server.get(&format!("/projects/p1/turns/{turn}/questions")).status, 404);
    });
}

/// Stops the member that asks. Gives the turn of the run once it has ended.
fn stop_asking(server: &Server, paused: &Value) -> Value {
    let turn = text(&paused["questions"][0]["agent_turn_id"]);
    let stopped = server.post(&format!("/projects/p1/turns/{turn}:stop"), json!({ "reason": "enough" }));
    assert_eq!(stopped.status, 200, "{stopped:?}");
    ended(server, text(&paused["agent_turn_id"]))
}

/// PR-05, PR-10: whatever the reflector would say, nobody asks it.
#[test]
fn pr_05_a_member_that_a_person_stops_aborts_the_run() {
    for judgement in ["retry", "complete"] {
        let rules = json!([
            { "match": { "role": "planner" }, "reply": { "tasks": [{ "agent": "a", "task": "Paint it." }] } },
            { "match": { "role": "reflector" }, "reply": { "next_action": judgement } },
            calls("a", 1, &[("ask_human", json!({ "question": "Which colour?" }))]),
        ]);
        on_a_server(|stage, server| {
            with_team(server, &crew("react", &["a"], rules.clone()));
            let body = json!({ "query": "Paint the boat.", "session_id": "s1", "wait_ms": 30_000 });
            let run = stop_asking(server, &server.post(RUN, body).json());
            assert_eq!((&run["status"], &run["error_code"]), (&json!("failed"), &json!("aborted")));
            assert_eq!(run["error"], "a: stopped");
            assert_eq!(stage.order(), ["crew_planner", "a"], "{judgement}");
            assert_eq!(stage.session("s1")["last_agent_status"], "aborted");
        });
    }
}

/// PR-01, PR-10, PR-11: what a person called off is not tried again.
#[test]
fn pr_01_a_member_that_a_person_stops_ends_the_chain() {
    let mut team = crew("sequential", &["a", "b"], asking());
    team["limits"] = json!({ "retries": 1 });
    on_a_server(|stage, server| {
        with_team(server, &team);
        let body = json!({ "query": "Paint the boat.", "session_id": "s1", "wait_ms": 30_000 });
        let run = stop_asking(server, &server.post(RUN, body).json());
        assert_eq!((&run["status"], &run["error"]), (&json!("failed"), &json!("a: stopped")));
        assert_eq!(stage.order(), ["a"]);
        assert_eq!(stage.session("s1")["last_agent_status"], "aborted");
    });
}
