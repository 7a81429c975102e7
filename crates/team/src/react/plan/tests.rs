//! How plans are read, and which task is next.

use super::*;
use serde_json::json;

fn told(tasks: &[Planned]) -> Vec<(&str, &str, &str, Vec<&str>)> {
    let mut told = Vec::new();
    for Planned { id, agent, description, depends_on, .. } in tasks {
        let depends_on = depends_on.iter().map(String::as_str).collect();
        told.push((id.as_str(), agent.as_str(), description.as_str(), depends_on));
    }
    told
}

/// PR-05
#[test]
fn a_plan_is_read_leniently() {
    let plan = json!({ "tasks": [
        { "agent": "a", "description": "one" },
        { "id": "x", "agent_id": " b ", "task": "two", "depends_on": ["t1"] },
        { "id": 3, "assignee": "c", "input": "three", "depends_on": "x" },
        { "instruction": "four", "depends_on": [3, null, ""], "agent": null },
    ] });
    let expected = vec![
        ("t1", "a", "one", vec![]),
        ("x", "b", "two", vec!["t1"]),
        ("3", "c", "three", vec!["x"]),
        ("t4", "", "four", vec!["3"]),
    ];
    assert_eq!(told(&read(&plan).unwrap()), expected);
    let fenced = json!(format!("Sure!\n```json\n{plan}\n```"));
    assert_eq!(told(&read(&fenced).unwrap()), expected);
}

/// PR-05
#[test]
fn a_plan_that_cannot_be_carried_out_is_none() {
    let many: Vec<Value> = (0..1_001).map(|_| json!({ "task": "x" })).collect();
    for (plan, fault) in [
        (json!("I would rather not."), "the answer has no list of tasks"),
        (json!({ "tasks": [] }), "the plan has no tasks"),
        (json!({ "tasks": ["a"] }), "t1 is no object"),
        (json!({ "tasks": many }), "the plan has 1001 tasks, and 1000 is the limit"),
        (json!({ "tasks": [{ "agent": "a", "task": " " }] }), "t1 does not say what is to be done"),
        (json!({ "tasks": [{ "task": "x", "id": "t2" }, { "task": "y" }] }), "two tasks are called t2"),
        (
            json!({ "tasks": [{ "task": "x", "depends_on": ["t9"] }] }),
            "t1 depends on t9, which is not in the plan",
        ),
        (
            json!({ "tasks": [
                { "task": "x" }, { "task": "y", "depends_on": ["t3"] }, { "task": "z", "depends_on": ["t2"] },
            ] }),
            "these tasks wait for each other: t2, t3",
        ),
        (json!({ "tasks": [{ "task": "x", "depends_on": ["t1"] }] }), "these tasks wait for each other: t1"),
    ] {
        assert_eq!(read(&plan).unwrap_err(), fault);
    }
}

/// PR-05
#[test]
fn the_next_task_is_the_first_that_waits_for_nothing() {
    let plan = json!({ "tasks": [
        { "task": "x", "depends_on": ["t3"] }, { "task": "y" }, { "task": "z", "depends_on": ["t2"] },
    ] });
    let mut tasks = read(&plan).unwrap();
    for next in [1, 2, 0] {
        assert_eq!(pick(&tasks), Some(next));
        tasks[next].state = State::Completed("done".to_owned());
    }
    assert_eq!(pick(&tasks), None);
    tasks[1].state = State::Failed("no".to_owned());
    tasks[2].state = State::Pending;
    assert_eq!(pick(&tasks), None);
}
