//! Agents that hand over to each other.

use super::{
    crew::{calls, crew, says},
    stage::{alone, on_both_stores},
};
use serde_json::json;

/// PR-02
#[test]
fn whoever_is_handed_the_work_goes_on_with_its_task() {
    let rules = json!([
        calls("a", 1, &[("delegate_to_b", json!({ "task": "Paint it red.", "message": "I drew it." }))]),
        says("b", "It is red."),
        says("c", "Nobody asks me."),
    ]);
    let team = crew("dynamic", &["a", "b", "c"], rules);
    on_both_stores(|stage| {
        assert_eq!(stage.run(&team, "Make a boat.", &[]).deliverable(), "It is red.");
        assert_eq!(stage.order(), ["a", "b"]);
        assert_eq!(stage.only_sent("a").query(), "Make a boat.");
        let handed = stage.only_sent("b");
        assert_eq!(handed.query(), "Paint it red.");
        assert_eq!(handed.count("SECRET-a"), 0, "{handed:#?}");
    });
}

/// PR-02
#[test]
fn work_cannot_be_handed_out_of_the_team_or_past_what_is_allowed() {
    let rules = json!([
        { "match": { "agent": "a", "contains": "stranger" }, "tool_calls": [{ "name": "delegate_to_zed" }] },
        { "match": { "agent": "a" }, "tool_calls": [{ "name": "delegate_to_c", "arguments": { "task": "x" } }] },
        says("b", "Nobody asks me."),
        says("c", "Nor me."),
    ]);
    let mut team = crew("dynamic", &["a", "b", "c"], rules);
    team["agents"][0]["can_delegate_to"] = json!(["b"]);
    alone(|stage| {
        let ran = stage.run(&team, "Ask a stranger.", &[]);
        ran.failed("delegation_target_invalid", "zed");
        let ran = stage.run(&team, "Ask a friend.", &[]);
        ran.failed("delegation_target_invalid", "may not");
        assert_eq!(stage.order(), ["a", "a"]);
    });
}

/// PR-02: who may hand over to nobody and does is told so by the process, like anybody else.
#[test]
fn pr_02_a_hand_over_by_somebody_without_targets_is_recorded() {
    let rules = json!([calls("a", 1, &[("delegate_to_zed", json!({ "task": "Paint it." }))])]);
    let team = crew("dynamic", &["a"], rules);
    alone(|stage| {
        stage.run(&team, "Make a boat.", &[]).failed("delegation_target_invalid", "zed");
        assert_eq!(stage.order(), ["a"]);
    });
}

/// PR-02, NF-05
#[test]
fn only_the_first_of_several_delegations_counts() {
    let rules = json!([
        calls(
            "a",
            1,
            &[("delegate_to_c", json!({ "task": "first" })), ("delegate_to_b", json!({ "task": "second" })),]
        ),
        says("b", "Nobody asks me."),
        says("c", "I was the first."),
    ]);
    let team = crew("dynamic", &["a", "b", "c"], rules);
    alone(|stage| {
        assert_eq!(stage.run(&team, "Go.", &[]).deliverable(), "I was the first.");
        assert_eq!(stage.order(), ["a", "c"]);
        assert_eq!(stage.tool_results(&stage.turns_of("a")[0]).len(), 2, "every call has its answer");
    });
}

/// PR-11
#[test]
fn agents_that_hand_over_in_circles_come_to_an_end() {
    let rules = json!([
        calls("a", 1, &[("delegate_to_b", json!({ "task": "your turn" }))]),
        calls("b", 1, &[("delegate_to_a", json!({ "task": "your turn" }))]),
    ]);
    let mut team = crew("dynamic", &["a", "b"], rules);
    team["limits"] = json!({ "max_rounds": 5 });
    alone(|stage| {
        stage.run(&team, "Go.", &[]).failed("max_rounds", "after 5 rounds");
        assert_eq!(stage.order(), ["a", "b", "a", "b", "a"]);
    });
}
