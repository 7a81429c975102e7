//! Files of teams that are wrong: told before anything is written.

use super::crew::{crew, says};
use crate::support::{Backend, Home};
use serde_json::{Value, json};

/// API-17, SEC-08
#[test]
fn a_field_that_is_wrong_is_named_and_nothing_is_written() {
    let good = || crew("sequential", &["a", "b"], json!([says("a", "x"), says("b", "y")]));
    let with = |path: &str, value: Value| {
        let mut team = good();
        *team.pointer_mut(path).unwrap() = value;
        team
    };
    let put = |name: &str, value: Value| {
        let mut team = good();
        team[name] = value;
        team
    };
    let home = Home::new(Backend::Sqlite);
    for (team, field) in [
        (put("colour", json!("red")), "colour"),
        (put("limits", json!({ "max_stepz": 1 })), "limits/max_stepz"),
        (put("limits", json!({ "max_steps": 0 })), "limits/max_steps"),
        (put("enable_share_context", json!("yes")), "enable_share_context"),
        (put("entry", json!("a")), "entry"),
        (put("agents", json!([])), "agents"),
        (put("agents", Value::Null), "agents"),
        (put("tools", json!([{ "description": "x" }])), "tools/0/name"),
        (with("/name", json!("no good name")), "name"),
        (with("/process", json!("committee")), "process"),
        (with("/agents/1/id", json!("a")), "agents/1/id"),
        (with("/agents/0/id", json!("team_crew")), "agents/0/id"),
        (with("/agents/0/profile", json!({})), "agents/0/profile/system_prompt"),
        (with("/model/provider", json!("oracle")), "provider"),
        (with("/model/script/rules", json!([{ "match": { "agnet": "a" }, "reply": "x" }])), "agnet"),
    ] {
        home.file("team.yaml", team.to_string());
        let run = home.cardwire(&["run", "team.yaml", "Go."]);
        run.failed(2, field);
        assert!(!home.data_dir().exists(), "{field}: something was written");
    }
    for odd in [
        "- a list",
        "just words",
        "name: x\nprocess: sequential\nagents: [writer]",
        "name: x\nmodel: scripted",
    ] {
        home.file("team.yaml", odd);
        assert_eq!(home.cardwire(&["run", "team.yaml", "Go."]).code, 2, "{odd}");
    }
    home.file("team.yaml", "name: [unclosed");
    assert_eq!(home.cardwire(&["run", "team.yaml", "Go."]).code, 2);
    home.cardwire(&["run", "nowhere.yaml", "Go."]).failed(3, "nowhere.yaml");
    home.file("team.yaml", with("/model/script", json!("absent.yaml")).to_string());
    home.cardwire(&["run", "team.yaml", "Go."]).failed(3, "absent.yaml");
    assert!(!home.data_dir().exists());
}

/// F-01: alone and with a server, in YAML and in JSON.
#[test]
fn a_key_that_nobody_reads_and_a_secret_are_refused_before_anything_is_stored() {
    let file = |model: &str| {
        format!(
            "name: crew\nprocess: sequential\nmodel: {model}\nagents: [{{id: a, profile: {{system_prompt: Hi.}}}}]\n"
        )
    };
    let cases = [
        (
            "{provider: openai, model: gpt-4o, baseurl: 'http://127.0.0.1:1'}",
            "model/baseurl: is not known; did you mean `base_url`?",
        ),
        (
            "{provider: openai, model: gpt-4o, api_key: sk-abcdefghijklmnopqrstuvwxyz}",
            "model/api_key: looks like a secret",
        ),
        ("{provider: openai, model: gpt-4o, api_key: hunter2}", "OPENAI_API_KEY"),
        (
            "{provider: openai, model: gpt-4o, params: {headers: {Authorization: hunter2}}}",
            "model/params/headers/Authorization",
        ),
    ];
    let alone = Home::new(Backend::Sqlite);
    let served = Home::new(Backend::Sqlite);
    let server = served.up(&[]);
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    for (model, words) in cases {
        for home in [&alone, &served] {
            home.file("team.yaml", file(model));
            let run = home.cardwire(&["run", "team.yaml", "Go.", "--project", "p1"]);
            run.failed(2, words);
            assert!(!run.stderr.contains("hunter2") && !run.stderr.contains("sk-abc"), "{run:?}");
        }
        let put = served.cardwire(&["team", "put", "team.yaml", "--project", "p1"]);
        put.failed(2, words);
    }
    assert!(!alone.data_dir().exists(), "something was written");
    let teams = served.json(&["team", "list", "--project", "p1"]);
    assert_eq!(teams["items"], json!([]), "something was kept");
}

/// API-17
#[test]
fn a_script_may_be_a_file_beside_the_team() {
    let home = Home::new(Backend::Sqlite);
    let mut team = crew("sequential", &["a"], json!([]));
    team["model"]["script"] = "scripts/one.yaml".into();
    home.file("teams/scripts/one.yaml", "rules:\n  - reply: From a file.\n");
    home.file("teams/team.yaml", team.to_string());
    let told = home.json(&["run", "teams/team.yaml", "Go."]);
    assert_eq!(told["deliverable"], "From a file.", "{told}");
}

/// API-17
#[test]
fn a_blank_question_is_none() {
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", crew("sequential", &["a"], json!([says("a", "x")])).to_string());
    home.cardwire(&["run", "team.yaml", " "]).failed(2, "query");
    assert_eq!(home.cardwire(&["run", "team.yaml"]).code, 2);
}
