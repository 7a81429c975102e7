//! PR-06..PR-08, and the retries of PR-11.

use crate::{
    Act, Outcome, Role, Round, Status, Task, Team,
    fixtures::{QUERY, Run, bad, failed, good, patient, team},
    next,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn crew() -> Team {
    team("map_reduce", &["a", "b", "r"])
}

/// A plan of tasks for these workers, each with an input of its own.
fn plan(workers: &[&str]) -> Outcome {
    let task = |(index, id): (usize, &&str)| json!({ "agent_id": id, "input": format!(" Part {index}.\n") });
    let tasks: Vec<Value> = workers.iter().enumerate().map(task).collect();
    good(json!({ "tasks": tasks }).to_string())
}

/// PR-07
#[test]
fn the_planner_is_told_the_goal_and_the_workers() {
    let run = Run::of(&crew(), []);
    assert_eq!((run.calls(), run.tasks()[0].role), (vec!["planner".to_owned()], Role::MapPlanner));
    assert_snapshot!(run.input(), @r"
    Goal:
    Write about tides.

    Workers:
    - a: Does what a does.
    - b: Does what b does.

    Answer with the tasks, as JSON.
    ");
}

/// PR-06, PR-08
#[test]
fn all_tasks_are_worked_on_at_once_each_with_its_own_input() {
    let run = Run::of(&crew(), [vec![plan(&["a", "b", "a"])]]);
    assert_eq!(run.calls(), ["t1/a", "t2/b", "t3/a"]);
    for (index, task) in run.tasks().iter().enumerate() {
        let input = format!(" Part {index}.\n");
        let id = Some(format!("t{}", index + 1));
        assert_eq!(task, &Task { task_id: id, ..Task::ask(&task.agent, Role::MapWorker, input) });
    }
}

/// PR-07
#[test]
fn the_reducer_gets_the_results_in_task_order() {
    let outcomes = vec![good("one\ntwo"), good(json!({ "n": 2 })), good("three")];
    let run = Run::of(&crew(), [vec![plan(&["b", "a", "b"])], outcomes]);
    assert_eq!((run.calls(), run.tasks()[0].role), (vec!["r".to_owned()], Role::Reducer));
    assert_snapshot!(run.input(), @r#"
    Goal:
    Write about tides.

    Results:
    - t1 (b): one
      two
    - t2 (a): {"n":2}
    - t3 (b): three
    "#);

    let mut rounds = run.rounds.clone();
    rounds[1].tasks.reverse();
    rounds[1].outcomes.reverse();
    assert_eq!(next(&crew(), QUERY, &rounds), run.act);

    let tasks = run.tasks().to_vec();
    rounds.push(Round { tasks, outcomes: vec![good("all of it")] });
    assert_eq!(next(&crew(), QUERY, &rounds), Act::Finish { output: json!("all of it") });
}

/// PR-07
#[test]
fn one_failed_task_fails_the_run_with_a_list() {
    let outcomes =
        vec![failed("no idea"), good("x"), bad(Status::Canceled, ""), bad(Status::Timeout, "late")];
    let run = Run::of(&crew(), [vec![plan(&["a", "b", "b", "a"])], outcomes]);
    assert_eq!(run.failure(), ("map_failed", "t1/a: no idea; t3/b: canceled; t4/a: late"));
}

/// PR-07
#[test]
fn nothing_cannot_be_reduced() {
    let nothing =
        || vec![good(""), good(Value::Null), good(json!({ "fields": [{ "name": "output", "value": " " }] }))];
    let run = Run::of(&crew(), [vec![plan(&["a", "b", "b"])], nothing()]);
    assert_eq!(run.failure(), ("no_results", "no task delivered anything"));
    let mut something = nothing();
    something[1] = good("x");
    assert_eq!(Run::of(&crew(), [vec![plan(&["a", "b", "b"])], something]).calls(), ["r"]);
}

/// PR-08
#[test]
fn a_plan_that_cannot_be_mapped_fails_the_run() {
    let many: Vec<Value> = (0..1_001).map(|_| json!({ "agent_id": "a", "input": "x" })).collect();
    for (answer, code, message) in [
        (json!("Let us begin!"), "plan_invalid", "the planner's answer has no list of tasks"),
        (json!({ "tasks": ["x"] }), "plan_invalid", "t1 is no object"),
        (json!({ "tasks": many }), "plan_invalid", "the plan has 1001 tasks, and 1000 is the limit"),
        (json!("{\"tasks\": []}"), "plan_no_tasks", "the plan has no tasks"),
        (
            json!({ "tasks": [{ "agent_id": "a", "input": "x" }, { "agent_id": "r", "input": "x" }] }),
            "plan_unknown_agent",
            r#"t2: "r" is no worker; the workers are a, b"#,
        ),
        (json!([{ "input": "x" }]), "plan_unknown_agent", r#"t1: "" is no worker; the workers are a, b"#),
        (json!([{ "agent_id": "b", "input": " " }]), "plan_empty_input", "t1: the task of b is empty"),
        (
            json!([{ "agent_id": "b", "input": "", "task": "x" }]),
            "plan_empty_input",
            "t1: the task of b is empty",
        ),
        (json!([{ "agent_id": "b" }]), "plan_empty_input", "t1: the task of b is empty"),
    ] {
        let run = Run::alone(&crew(), [good(answer)]);
        assert_eq!(run.failure(), (code, message));
    }
}

/// PR-07
#[test]
fn a_failed_planner_or_reducer_fails_the_run() {
    assert_eq!(Run::alone(&crew(), [failed("x")]).failure(), ("agent_failed", "planner: x"));
    let run = Run::alone(&crew(), [plan(&["a"]), good("1"), failed("y")]);
    assert_eq!(run.failure(), ("agent_failed", "r: y"));
}

/// PR-11
#[test]
fn only_the_failed_tasks_are_given_again() {
    let team = patient("map_reduce", &["a", "b", "r"], 2);
    let first = vec![failed("x"), good("2"), bad(Status::Timeout, ""), good("4")];
    let answers = [vec![plan(&["a", "b", "a", "b"])], first];
    let run = Run::of(&team, answers.clone());
    assert_eq!(run.calls(), ["t1/a", "t3/a"]);

    let run = Run::of(&team, answers.iter().cloned().chain([vec![failed("x"), good("3")], vec![good("1")]]));
    assert_eq!(run.calls(), ["r"]);
    let results = run.input().split_once("Results:\n").unwrap().1;
    assert_eq!(results, "- t1 (a): 1\n- t2 (b): 2\n- t3 (a): 3\n- t4 (b): 4");

    let again = [vec![failed("y"), good("3")], vec![failed("z")]];
    let run = Run::of(&team, answers.into_iter().chain(again));
    assert_eq!(run.failure(), ("map_failed", "t1/a: z"));
}

/// PR-11
#[test]
fn nothing_is_given_again_when_a_task_was_called_off() {
    let team = patient("map_reduce", &["a", "b", "r"], 2);
    let run = Run::of(&team, [vec![plan(&["a", "b"])], vec![failed("x"), bad(Status::Canceled, "")]]);
    assert_eq!(run.failure(), ("map_failed", "t1/a: x; t2/b: canceled"));
}
