//! One agent after the other.

use super::{
    crew::{calls, crew, says},
    stage::{alone, on_both_stores},
};
use serde_json::json;

/// PR-01
#[test]
fn an_agent_that_fails_stops_the_chain() {
    let rules = json!([
        says("a", "Alpha is done."),
        { "match": { "agent": "b" }, "error": "bad_request" },
        says("c", "Nobody asks me."),
    ]);
    let team = crew("sequential", &["a", "b", "c"], rules);
    on_both_stores(|stage| {
        let ran = stage.run(&team, "What is it?", &[]);
        ran.failed("agent_failed", "b: bad request");
        assert_eq!(stage.order(), ["a", "b"], "c has no turn");
        let failed = &stage.turns_of("b")[0];
        assert_eq!(
            (&failed["status"], &failed["error_code"]),
            (&json!("failed"), &json!("model_bad_request"))
        );
    });
}

/// PR-01, ST-14, CC-03
#[test]
fn an_agent_sees_what_came_before_it_but_nobodys_system_prompt() {
    let team = crew("sequential", &["a", "b"], json!([says("a", "Alpha is done."), says("b", "Beta too.")]));
    alone(|stage| {
        assert_eq!(stage.run(&team, "What is it?", &[]).deliverable(), "Beta too.");
        let first = stage.only_sent("a");
        assert_eq!(first.said_by("system")[0], "SECRET-a");
        assert_eq!((first.query(), first.count("What is it?")), ("What is it?", 1));
        assert_eq!(first.said_by("assistant").len(), 0, "{first:#?}");
        let second = stage.only_sent("b");
        assert_eq!(second.said_by("system")[0], "SECRET-b");
        assert_eq!((second.query(), second.count("What is it?")), ("What is it?", 1));
        let said = second.said_by("assistant");
        // F-10: one message, in sentences.
        assert_eq!(said, ["The agent a said:\nAlpha is done.\n\nThe agent a has completed its part."]);
        assert_eq!(second.count("SECRET-a"), 0, "{second:#?}");
    });
}

/// PR-11, CC-08
#[test]
fn an_agent_is_asked_again_as_often_as_the_team_allows() {
    let rules = json!([
        { "match": { "agent": "a", "times": 2 }, "error": "bad_request" },
        says("a", "Third time lucky."),
    ]);
    let mut team = crew("sequential", &["a"], rules);
    team["limits"] = json!({ "retries": 2 });
    team["enable_share_context"] = false.into();
    alone(|stage| {
        assert_eq!(stage.run(&team, "What is it?", &[]).deliverable(), "Third time lucky.");
        let statuses: Vec<_> = stage.turns_of("a").iter().map(|turn| turn["status"].clone()).collect();
        assert_eq!(statuses, ["failed", "failed", "success"]);
        let sent = stage.sent("a");
        assert_eq!(sent.iter().map(|sent| sent.count("# Framework Context")).max(), Some(0), "{sent:#?}");
    });
}

/// PR-11
#[test]
fn a_turn_ends_after_so_many_steps() {
    let rules = json!([{ "tool_calls": [{ "name": "read_card", "arguments": { "card_id": "x" } }] }]);
    let mut team = crew("sequential", &["a"], rules);
    team["limits"] = json!({ "max_steps": 2 });
    alone(|stage| {
        stage.run(&team, "What is it?", &[]).failed("agent_failed", "did not end within 2 steps");
        let turn = &stage.turns_of("a")[0];
        assert_eq!((&turn["status"], &turn["error_code"]), (&json!("failed"), &json!("max_steps")));
        assert_eq!(stage.sent("a").len(), 2);
        assert_eq!(stage.tool_results(turn).len(), 2, "every call has its answer");
    });
}

/// PR-02: only who is offered a hand-over can make one.
#[test]
fn pr_02_an_agent_of_a_chain_hands_nothing_over() {
    let rules = json!([
        calls("a", 1, &[("delegate_to_b", json!({ "task": "Do it for me." }))]),
        { "match": { "agent": "a", "role": "tool" }, "reply": "Alpha is done." },
        says("b", "Beta too."),
    ]);
    let team = crew("sequential", &["a", "b"], rules);
    alone(|stage| {
        assert_eq!(stage.run(&team, "What is it?", &[]).deliverable(), "Beta too.");
        let refused = stage.tool_results(&stage.turns_of("a")[0]);
        assert_eq!(refused.len(), 1, "{refused:#?}");
        assert_eq!(refused[0]["error"]["code"], "tool_not_allowed", "{refused:#?}");
        assert_eq!(stage.sent("a")[1].count("tool_not_allowed"), 1, "the model is told");
        assert!(stage.only_sent("b").said_by("assistant")[0].contains("Alpha is done."));
    });
}
