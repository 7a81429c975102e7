//! Several runs of one team.

use super::{
    crew::{calls, crew, says},
    stage::{alone, on_both_stores},
};
use serde_json::{Value, json};

/// ST-05, ST-07, ST-11, F-11
#[test]
fn the_second_run_of_a_session_knows_the_first_once() {
    let team = crew(
        "sequential",
        &["a"],
        json!([
            { "match": { "agent": "a", "contains": "first" }, "reply": "Alpha answers." },
            { "match": { "agent": "a", "contains": "second" }, "reply": "Alpha answers again." },
        ]),
    );
    on_both_stores(|stage| {
        stage.run(&team, "The first question?", &["--session", "s1"]).deliverable();
        stage.run(&team, "The second question?", &["--session", "s1"]).deliverable();
        let second = stage.sent("a").pop().unwrap();
        assert_eq!(second.query(), "The second question?");
        assert_eq!(second.said_by("user"), ["The first question?", "The second question?"]);
        assert_eq!(second.count("Alpha answers."), 1, "{second:#?}");
        let session = stage.session("s1");
        let people = |message: &&Value| message["role"] == "human";
        let messages = session["messages"].as_array().unwrap();
        assert_eq!(messages.iter().filter(people).count(), 2, "{session:#}");
        // F-11, ST-14: each question stands before what the team said to it.
        let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["human", "ai", "ai", "human", "ai", "ai"], "{session:#}");
    });
}

/// ST-10
#[test]
fn runs_of_different_sessions_know_nothing_of_each_other() {
    let team = crew("sequential", &["a"], json!([says("a", "Alpha answers.")]));
    alone(|stage| {
        stage.run(&team, "The first question?", &["--session", "s1"]).deliverable();
        stage.run(&team, "The second question?", &["--session", "s2"]).deliverable();
        stage.run(&team, "The third question?", &[]).deliverable();
        for (sent, question) in stage.sent("a").iter().zip(["first", "second", "third"]) {
            assert_eq!(sent.said_by("user"), [format!("The {question} question?")]);
            assert_eq!(sent.said_by("assistant").len(), 0, "{sent:#?}");
        }
    });
}

/// API-17
#[test]
fn a_run_uses_the_team_as_its_file_is_now() {
    alone(|stage| {
        let mut team = crew("sequential", &["a"], json!([says("a", "Alpha answers.")]));
        stage.run(&team, "The first question?", &[]).deliverable();
        team["agents"][0]["profile"]["system_prompt"] = "Another prompt.".into();
        stage.run(&team, "The second question?", &[]).deliverable();
        let prompts: Vec<_> =
            stage.sent("a").iter().map(|sent| sent.said_by("system")[0].to_owned()).collect();
        assert_eq!(prompts, ["SECRET-a", "Another prompt."]);
    });
}

/// DP-08: runs of one team are done one after the other.
#[test]
fn runs_of_one_team_at_once_all_end() {
    let team = crew("sequential", &["a"], json!([{ "reply": "Alpha answers.", "delay_ms": 50 }]));
    on_both_stores(|stage| {
        let Some(server) = stage.server() else { return };
        stage.run(&team, "The first question?", &[]).deliverable();
        let statuses: Vec<_> = std::thread::scope(|scope| {
            let run = |n: usize| {
                let body = json!({ "query": format!("Question {n}?"), "wait_ms": 30_000 });
                server.post("/projects/p1/teams/crew:run", body).json()
            };
            let runs: Vec<_> = (0..8).map(|n| scope.spawn(move || run(n))).collect();
            runs.into_iter().map(|run| run.join().unwrap()["status"].clone()).collect()
        });
        assert_eq!(statuses, vec![json!("success"); 8]);
    });
}

/// KN-04: what an agent found and what it was shown is in the experience of its session, each chunk once.
#[test]
fn the_experience_of_a_session_knows_what_its_agents_found() {
    let rules = json!([
        calls("a", 1, &[("search_knowledge", json!({ "query": "boat" }))]),
        { "match": { "agent": "a" }, "reply": "It is red." },
    ]);
    alone(|stage| {
        let mut team = crew("sequential", &["a"], rules.clone());
        // Without blocks an agent knows what it finds by itself.
        team["enable_share_context"] = json!(false);
        stage.run(&team, "Hello?", &["--session", "s0"]).deliverable();
        stage.home.file("boats.md", "A red boat sails.");
        stage.json(&["knowledge", "add", "boats.md"]);
        for session in ["s1", "s2"] {
            let deliverable = stage.run(&team, "Which boat?", &["--session", session]);
            assert_eq!(deliverable.deliverable(), "It is red.");
            let known = stage.json(&["experience", "get", session]);
            let refs = known["knowledge_refs"].as_array().unwrap();
            assert_eq!(refs.len(), 1, "{known:#}");
            assert!(refs[0]["source_id"].as_str().unwrap().ends_with("boats.md"), "{known:#}");
            // The second time with the block, which shows the same.
            team["enable_share_context"] = json!(true);
        }
    });
}
