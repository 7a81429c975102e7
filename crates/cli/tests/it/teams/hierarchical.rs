//! A manager and those it assigns tasks to.

use super::{
    crew::{calls, crew, says},
    stage::{alone, on_both_stores},
};
use serde_json::{Value, json};

fn rules() -> Value {
    json!([
        { "match": { "agent": "lead", "contains": "- worker:" }, "reply": "All is done." },
        {
            "match": { "agent": "lead" },
            "tool_calls": [{ "name": "delegate_to_worker", "arguments": { "task": "Count the boats." } }],
        },
        says("worker", "Seven boats."),
    ])
}

/// PR-03, CC-05
#[test]
fn whoever_is_assigned_a_task_is_asked_that_and_not_what_the_user_asked() {
    let team = crew("hierarchical", &["lead", "worker"], rules());
    on_both_stores(|stage| {
        let ran = stage.run(&team, "Is the harbour full?", &["--session", "s1"]);
        assert_eq!(ran.deliverable(), "All is done.");
        assert_eq!(stage.order(), ["lead", "worker", "lead"], "a sub-agent returns to its manager");
        let assigned = stage.only_sent("worker");
        assert_eq!(assigned.query(), "Count the boats.");
        assert_eq!(assigned.count("Is the harbour full?"), 0, "{assigned:#?}");
        let todo = assigned.said_by("system").into_iter().find(|text| text.starts_with("# Todo Context"));
        let todo = todo.unwrap_or_else(|| panic!("no todo block: {assigned:#?}"));
        assert!(todo.contains("Assigned Task") && todo.contains("Count the boats."), "{todo}");
        let managed = stage.sent("lead");
        assert_eq!(managed[0].query(), "Is the harbour full?");
        assert!(managed[1].query().starts_with("Is the harbour full?"), "{managed:#?}");
        assert!(managed[1].query().ends_with("- worker: Seven boats."), "{managed:#?}");
    });
}

/// PR-03, ST-13
#[test]
fn what_was_assigned_is_forgotten_when_it_is_done() {
    let team = crew("hierarchical", &["lead", "worker"], rules());
    alone(|stage| {
        stage.run(&team, "Is the harbour full?", &["--session", "s1"]).deliverable();
        let session = stage.session("s1");
        assert_eq!(session["assigned_task"], Value::Null, "{session:#}");
        assert_eq!(session["active_agent"], Value::Null, "{session:#}");
        assert_eq!(session["last_agent_status"], "completed", "{session:#}");
        // What the manager is asked once more carries no task of somebody else's.
        let again = &stage.sent("lead")[1];
        assert_eq!(again.count("Assigned Task"), 0, "{again:#?}");
    });
}

/// PR-03
#[test]
fn a_manager_hears_of_a_failure_and_decides() {
    let rules = json!([
        { "match": { "agent": "lead", "contains": "- worker: failed" }, "reply": "It could not be done." },
        {
            "match": { "agent": "lead" },
            "tool_calls": [{ "name": "delegate_to_worker", "arguments": { "task": "Count the boats." } }],
        },
        { "match": { "agent": "worker" }, "error": { "kind": "bad_request", "message": "fog" } },
    ]);
    let team = crew("hierarchical", &["lead", "worker"], rules);
    alone(|stage| {
        assert_eq!(stage.run(&team, "Is the harbour full?", &[]).deliverable(), "It could not be done.");
        assert!(stage.sent("lead")[1].query().contains("fog"));
    });
}

/// PR-03: whoever is assigned a task returns to the manager, with a result.
#[test]
fn pr_03_a_sub_agent_hands_nothing_over() {
    let mut rules = rules();
    rules[2] = calls("worker", 1, &[("delegate_to_lead", json!({ "task": "Count them yourself." }))]);
    let told = json!({ "match": { "agent": "worker", "role": "tool" }, "reply": "Seven boats." });
    rules.as_array_mut().unwrap().push(told);
    let team = crew("hierarchical", &["lead", "worker"], rules);
    alone(|stage| {
        assert_eq!(stage.run(&team, "Is the harbour full?", &[]).deliverable(), "All is done.");
        let refused = stage.tool_results(&stage.turns_of("worker")[0]);
        assert_eq!(refused.len(), 1, "{refused:#?}");
        assert_eq!(refused[0]["error"]["code"], "tool_not_allowed", "{refused:#?}");
        assert!(stage.sent("lead")[1].query().ends_with("- worker: Seven boats."));
    });
}
