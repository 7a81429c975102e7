//! Tools that a profile names and that are not there: the run fails before a model is asked, and says what to do (F-02).

use super::{
    crew::{calls, crew, says},
    stage::{Ran, Stage, alone, alone_with_mcp, on_a_server},
};
use crate::support::{Backend, Home};
use serde_json::{Value, json};
use std::cell::RefCell;

/// A team of one with these lists in its profile.
fn team(profile: &Value) -> Value {
    let mut team = crew("sequential", &["a"], json!([says("a", "Done.")]));
    for (name, value) in profile.as_object().unwrap() {
        team["agents"][0]["profile"][name] = value.clone();
    }
    team
}

/// The run failed for these reasons, and nobody was asked.
#[track_caller]
fn missing(stage: &Stage, ran: &Ran, reasons: &[&str]) {
    ran.failed("agent_failed", "not all tools that the agent's profile names are there");
    for reason in reasons {
        assert!(ran.run.stderr.contains(reason), "{reason}: {}", ran.run.stderr);
    }
    let turn = stage.turns_of("a").pop().unwrap();
    assert_eq!(turn["error_code"], "tools_missing", "{turn}");
    assert!(stage.sent("a").is_empty(), "no model was asked");
}

/// F-02
#[test]
fn a_program_that_dies_at_its_start_fails_the_run_with_its_last_lines() {
    let command = "echo 'reading the settings' >&2; echo 'no such directory: /data' >&2; echo sk-abcdefghijklmnopqrstuvwxyz >&2; exit 3";
    let servers = json!({
        "shop": { "command": "sh", "args": ["-c", command] }, "gone": { "command": "/nowhere/mcp" }, "mute": { "command": "true" },
    });
    alone_with_mcp(&servers, &[], |stage| {
        let ran = stage.run(&team(&json!({ "allowed_tools": ["shop__*"] })), "Go.", &[]);
        let lines =
            ["the MCP server `shop` does not serve", "reading the settings", "no such directory: /data"];
        missing(stage, &ran, &lines);
        assert!(!ran.told.to_string().contains("sk-abc"), "a secret is told to nobody: {ran:?}");
    });
    for (server, why) in
        [("gone", "cannot start `/nowhere/mcp`"), ("mute", "the MCP server `mute` does not serve")]
    {
        alone_with_mcp(&servers, &[], |stage| {
            let ran = stage.run(&team(&json!({ "allowed_tools": [format!("{server}__*")] })), "Go.", &[]);
            missing(stage, &ran, &[why]);
        });
    }
}

/// F-02
#[test]
fn a_name_that_matches_nothing_fails_the_run_with_what_was_meant() {
    for (profile, reason) in [
        (
            json!({ "allowed_tools": ["publsh"] }),
            "allowed_tools/0: no tool is called `publsh`; did you mean `publish`?",
        ),
        (
            json!({ "allowed_tools": ["publish", "colour"] }),
            "allowed_tools/1: no tool is called `colour`; put it into the project",
        ),
        (
            json!({ "allowed_internal_tools": ["fork_joint"] }),
            "allowed_internal_tools/0: no tool is called `fork_joint`; did you mean `fork_join`?",
        ),
        (json!({ "allowed_tools": ["shop__*"] }), "there is no MCP server `shop` where the agents run"),
        (json!({ "allowed_tools": ["shop__pay"] }), "`cardwire up --mcp FILE`"),
        (
            json!({ "must_end_with": ["sumbit_result"] }),
            "must_end_with: none of sumbit_result is among the tools",
        ),
        (json!({ "allowed_tools": ["x".repeat(65)] }), "is longer than the 64 characters that models take"),
    ] {
        alone(|stage| {
            let mut team = team(&profile);
            team["tools"] =
                json!([{ "name": "publish", "approval": "required" }, { "name": "x".repeat(65) }]);
            missing(stage, &stage.run(&team, "Go.", &[]), &[reason]);
        });
    }
}

/// F-02: what can name no tool is told before anything is written.
#[test]
fn a_name_that_can_match_nothing_is_refused_with_its_place() {
    let home = Home::new(Backend::Sqlite);
    for wrong in ["*", "fil*", "a b"] {
        home.file("team.yaml", team(&json!({ "allowed_tools": ["read_card", wrong] })).to_string());
        home.cardwire(&["run", "team.yaml", "Go."]).failed(2, "agents/0/profile/allowed_tools/1");
    }
    assert!(!home.data_dir().exists(), "something was written");
}

/// F-02
#[test]
fn what_is_there_is_found_wherever_it_is() {
    alone(|stage| {
        let recipe =
            json!({ "name": "brief", "handover": { "target_profile_config": { "profile_name": "crew_a" } } });
        stage.home.file("recipe.json", recipe.to_string());
        stage.home.ok(&["project", "create", "p1"]);
        stage.home.ok(&["recipe", "put", "recipe.json", "--project", "p1"]);
        let mut team = team(&json!({
            "allowed_tools": ["publish", "brief", "submit_result", "write_files"],
            "allowed_internal_tools": ["fork_join", "provision_agent"],
        }));
        team["tools"] = json!([{ "name": "publish", "approval": "required" }]);
        assert_eq!(stage.run(&team, "Go.", &[]).deliverable(), "Done.");
    });
}

/// F-02: a server starts no program that a file names.
#[test]
fn the_servers_of_a_file_are_of_no_use_where_a_server_runs_the_agents() {
    on_a_server(|stage, _| {
        let mut team = team(&json!({ "allowed_tools": ["shop__*"] }));
        team["mcp_servers"] = json!({ "shop": { "command": "true" } });
        let ran = stage.run(&team, "Go.", &[]);
        missing(
            stage,
            &ran,
            &["there is no MCP server `shop`", "cardwire up --mcp FILE", "or stop the server"],
        );
    });
}

/// F-09: naming one tool takes none of the others away, and none are offered that nobody has a use for.
#[test]
fn built_in_tools_are_chosen_by_one_key() {
    let offered = |profile: Value, profiles: Value| {
        let names = RefCell::new(Vec::<String>::new());
        alone(|stage| {
            let mut team = team(&profile);
            team["profiles"] = profiles.clone();
            team["tools"] = json!([{ "name": "publish", "approval": "required" }]);
            assert_eq!(stage.run(&team, "Go.", &[]).deliverable(), "Done.");
            let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
            names.borrow_mut().extend(stage.offered("a").iter().map(name));
        });
        names.into_inner().join(" ")
    };
    let helpers = json!([{ "name": "finder", "system_prompt": "Find." }]);
    let delegate = "delegate_async fork_join ask_expert read_box";
    for (profile, profiles, names) in [
        (json!({}), json!([]), ""),
        (json!({}), helpers.clone(), delegate),
        (json!({ "allowed_tools": ["publish"] }), json!([]), "publish"),
        (json!({ "allowed_tools": ["publish"] }), helpers.clone(), &*format!("{delegate} publish")),
        (
            json!({ "allowed_tools": ["publish", "ask_human"], "builtin_tools": "none" }),
            helpers.clone(),
            "ask_human publish",
        ),
        (json!({ "builtin_tools": "delegate" }), json!([]), delegate),
        (json!({ "allowed_internal_tools": ["fork_join"] }), helpers.clone(), "fork_join"),
    ] {
        assert_eq!(offered(profile.clone(), profiles), names, "{profile}");
    }
    let all = offered(json!({ "builtin_tools": "all" }), json!([]));
    assert_eq!(all.split(' ').count(), 12, "{all}");
}

/// F-09, WK-05
#[test]
fn a_built_in_tool_that_was_not_chosen_is_refused() {
    let task = json!({ "target_strategy": "new", "target_ref": "crew_a", "instruction": "x" });
    for (profile, status) in
        [(json!({ "builtin_tools": "none" }), "failed"), (json!({ "builtin_tools": "delegate" }), "success")]
    {
        alone(|stage| {
            let rules = json!([
                calls("a", 1, &[("delegate_async", task.clone())]),
                { "match": { "agent": "a", "role": "tool" }, "reply": "Done." },
                { "reply": "Never mind." },
            ]);
            let mut team = team(&profile);
            team["model"]["script"]["rules"] = rules;
            assert_eq!(stage.run(&team, "Go.", &[]).deliverable(), "Done.");
            let turns = stage.turns_of("a");
            assert_eq!(stage.tool_results(&turns[0])[0]["status"], status, "{profile}");
        });
    }
}

/// F-10: a framework layer that tells of tools which are not offered is none.
#[test]
fn a_model_is_told_of_the_tools_that_it_is_offered() {
    for (profile, told) in
        [(json!({}), 0), (json!({ "builtin_tools": "delegate" }), 0), (json!({ "builtin_tools": "all" }), 1)]
    {
        alone(|stage| {
            assert_eq!(stage.run(&team(&profile), "Go.", &[]).deliverable(), "Done.");
            assert_eq!(stage.only_sent("a").count("plan_todo"), told, "{profile}");
        });
    }
}
