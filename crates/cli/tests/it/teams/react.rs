//! Plan, execute, reflect.

use super::{
    crew::{crew, says},
    stage::{alone, on_both_stores},
};
use serde_json::{Value, json};

/// t1 for a, then t2 for b; a fails the first time.
fn rules(judgement: &str) -> Value {
    let plan = json!({ "tasks": [
        { "id": "t1", "agent": "a", "description": "Find the boat." },
        { "id": "t2", "agent": "b", "description": "Paint the boat.", "depends_on": ["t1"] },
    ] });
    json!([
        { "match": { "role": "planner" }, "reply": format!("Here it is: {plan}") },
        { "match": { "role": "reflector", "contains": "t1 has failed" }, "reply": { "next_action": judgement, "reason": "no boat" } },
        { "match": { "role": "reflector" }, "reply": { "next_action": "complete" } },
        { "match": { "agent": "a", "times": 1 }, "error": "bad_request" },
        says("a", "Found at pier 4."),
        says("b", "Painted."),
    ])
}

/// PR-05
#[test]
fn a_task_that_failed_is_tried_again_when_the_reflector_says_so() {
    let team = crew("react", &["a", "b"], rules("retry"));
    on_both_stores(|stage| {
        assert_eq!(stage.run(&team, "A red boat.", &[]).deliverable(), "Painted.");
        assert_eq!(stage.order(), ["crew_planner", "a", "crew_reflector", "a", "b", "crew_reflector"]);
    });
}

/// PR-05, W-17
#[test]
fn the_text_of_a_task_reaches_its_agent_with_what_it_depends_on() {
    let team = crew("react", &["a", "b"], rules("retry"));
    alone(|stage| {
        stage.run(&team, "A red boat.", &[]).deliverable();
        let (first, second) = (stage.sent("a").remove(1), stage.only_sent("b"));
        assert!(first.query().contains("# Task t1\nFind the boat."), "{first:#?}");
        assert!(second.query().contains("# Task t2\nPaint the boat."), "{second:#?}");
        assert!(second.query().contains("Found at pier 4."), "{second:#?}");
    });
}

/// PR-05
#[test]
fn planner_and_reflector_are_shown_no_contexts_and_no_memory() {
    let team = crew("react", &["a", "b"], rules("retry"));
    alone(|stage| {
        stage.run(&team, "A blue boat.", &["--session", "s1"]).deliverable();
        stage.run(&team, "A red boat.", &["--session", "s1"]).deliverable();
        let mut sent = stage.sent("crew_planner");
        sent.extend(stage.sent("crew_reflector"));
        assert!(sent.len() >= 5, "{sent:#?}");
        for sent in &sent {
            assert_eq!(sent.count("__context") + sent.count("# Framework Context"), 0, "{sent:#?}");
            assert_eq!(sent.said_by("assistant").len() + sent.count("【RESULT】"), 0, "{sent:#?}");
            assert_eq!(sent.said_by("user").len(), 1, "{sent:#?}");
            assert_eq!(sent.count("SECRET-"), 0, "{sent:#?}");
        }
        assert_eq!(sent[1].count("A blue boat."), 0, "{:#?}", sent[1]);
    });
}

/// PR-05
#[test]
fn the_reflector_can_give_up() {
    let team = crew("react", &["a", "b"], rules("fail"));
    alone(|stage| {
        stage.run(&team, "A red boat.", &[]).failed("react_failed", "no boat");
        assert_eq!(stage.order(), ["crew_planner", "a", "crew_reflector"]);
    });
}
