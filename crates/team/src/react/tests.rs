//! PR-05.

use crate::{
    Outcome, Role, Status, Team,
    fixtures::{Run, bad, failed, good, team},
    prompts::inputs::TASK_TAG,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn crew() -> Team {
    team("react", &["a", "b"])
}

/// t1 for a, and t2 for b, which depends on it.
fn plan() -> Outcome {
    let tasks = json!([
        { "id": "t1", "agent": "a", "description": "Measure." },
        { "id": "t2", "agent": "b", "description": "Draw.", "depends_on": ["t1"] },
    ]);
    good(format!("```json\n{}\n```", json!({ "tasks": tasks })))
}

/// Two tasks that do not depend on each other.
fn loose_plan() -> Outcome {
    good(json!({ "tasks": [{ "agent": "a", "task": "Measure." }, { "agent": "b", "task": "Draw." }] }))
}

fn reflect(action: &str) -> Outcome {
    good(json!({ "next_action": action, "reason": "so it is" }))
}

/// PR-05
#[test]
fn the_planner_is_told_the_goal_and_the_agents() {
    let run = Run::alone(&crew(), []);
    assert_eq!((run.calls(), run.tasks()[0].role), (vec!["planner".to_owned()], Role::Planner));
    assert_snapshot!(run.input(), @r"
    Goal:
    Write about tides.

    Agents:
    - a: Does what a does.
    - b: Does what b does.

    Answer with the plan, as JSON.
    ");
}

/// PR-05
#[test]
fn tasks_are_done_in_the_order_of_their_dependencies() {
    let run = Run::alone(&crew(), [plan(), good("7 m"), good("a picture"), reflect("complete")]);
    assert_eq!(run.called(), ["planner", "t1/a", "t2/b", "reflector"]);
    assert_eq!(run.output(), "a picture");
}

/// PR-05, W-17
#[test]
fn the_text_of_the_task_reaches_the_agent() {
    let run = Run::alone(&crew(), [plan(), good("7 m\nat noon")]);
    assert_eq!((run.calls(), run.tasks()[0].role), (vec!["t2/b".to_owned()], Role::Agent));
    assert_eq!(run.tasks()[0].assigned_task.as_deref(), Some("Draw."));
    assert!(run.input().contains(&format!("{TASK_TAG} t2\nDraw.")));
    assert_snapshot!(run.input(), @r"
    Goal:
    Write about tides.

    # Task t2
    Draw.

    Results of the tasks before it:
    - t1 (a): 7 m
      at noon
    ");
}

/// PR-05
#[test]
fn a_failed_task_stops_picking_and_forces_reflection() {
    let run = Run::alone(&crew(), [loose_plan(), failed("no ruler")]);
    assert_eq!((run.calls(), run.tasks()[0].role), (vec!["reflector".to_owned()], Role::Reflector));
    assert_snapshot!(run.input(), @r"
    Goal:
    Write about tides.

    Tasks:
    - t1 (a), failed: Measure.
      Error: no ruler
    - t2 (b), pending: Draw.

    t1 has failed.

    Answer with the next action, as JSON.
    ");
}

/// PR-05: A fails, reflect = retry, A again.
#[test]
fn a_retry_gives_the_failed_task_again() {
    let run = Run::alone(&crew(), [plan(), failed("x"), reflect("retry")]);
    assert_eq!(run.calls(), ["t1/a"]);
    let run = Run::alone(&crew(), [plan(), failed("x"), reflect("retry"), good("1"), good("2")]);
    assert_eq!(run.calls(), ["reflector"]);
}

/// PR-05
#[test]
fn a_task_is_tried_again_three_times() {
    let mut answers = vec![plan()];
    for _ in 0..4 {
        answers.extend([bad(Status::Timeout, ""), reflect("retry")]);
    }
    let run = Run::alone(&crew(), answers);
    assert_eq!(run.called().iter().filter(|name| *name == "t1/a").count(), 4);
    assert_eq!(run.failure(), ("retries_exhausted", "t1/a failed 4 times"));
}

/// PR-05
#[test]
fn going_on_leaves_out_what_failed() {
    let team = crew();
    let run = Run::alone(&team, [loose_plan(), failed("x"), reflect("continue")]);
    assert_eq!(run.calls(), ["t2/b"]);
    let answers = [loose_plan(), failed("x"), reflect("continue"), good("2")];
    let run = Run::alone(&team, answers.clone());
    assert_eq!(run.calls(), ["reflector"]);
    assert!(run.input().contains("None of the tasks that are left can be done."), "{}", run.input());
    // There is nothing to go on with, so that what there is is all.
    let run = Run::alone(&team, answers.iter().cloned().chain([reflect("continue")]));
    assert_eq!(run.output(), "2");
    // It may still be tried again.
    assert_eq!(Run::alone(&team, answers.into_iter().chain([reflect("retry")])).calls(), ["t1/a"]);
    // What depends on the failed task cannot be done.
    let run = Run::alone(&team, [plan(), failed("x"), reflect("continue")]);
    assert_eq!(run.failure(), ("react_failed", "no task was completed"));
}

/// PR-05
#[test]
fn a_run_delivers_what_the_reflector_says() {
    let said = |output: Value| good(json!({ "next_action": "complete", "output": output }));
    let run = |end| Run::alone(&crew(), [plan(), good("1"), good("2"), end]);
    assert_eq!(run(said(json!("Both."))).output(), "Both.");
    assert_eq!(run(said(json!({ "n": 2 }))).output(), &json!({ "n": 2 }));
    assert_eq!(run(said(Value::Null)).output(), "2");
    assert_eq!(run(reflect("retry")).output(), "2");
    assert_eq!(run(reflect("fail")).failure(), ("react_failed", "so it is"));
    assert_eq!(
        Run::alone(&crew(), [plan(), failed("x"), said(json!("Never mind."))]).output(),
        "Never mind."
    );
}

/// PR-05
#[test]
fn a_new_plan_replaces_the_old_one() {
    let run = Run::alone(&crew(), [plan(), good("7 m"), failed("no paper"), reflect("replan")]);
    assert_eq!(run.calls(), ["planner"]);
    assert_snapshot!(run.input(), @r"
    Goal:
    Write about tides.

    Agents:
    - a: Does what a does.
    - b: Does what b does.

    Your last plan has to be replaced: so it is

    What came of its tasks:
    - t1 (a), completed: Measure.
      Result: 7 m
    - t2 (b), failed: Draw.
      Error: no paper

    Answer with the plan, as JSON.
    ");
}

/// PR-05
#[test]
fn a_run_has_at_most_five_new_plans() {
    let answers = (0..6).flat_map(|_| [plan(), failed("x"), reflect("replan")]);
    let run = Run::alone(&crew(), answers);
    assert_eq!(run.called().iter().filter(|name| *name == "planner").count(), 6);
    assert_eq!(run.failure(), ("replans_exhausted", "after 5 new plans: so it is"));
}

/// PR-05
#[test]
fn a_plan_that_cannot_be_read_is_made_anew_within_the_same_bound() {
    let team = crew();
    let run = Run::alone(&team, [good("Hm.")]);
    assert_eq!(run.calls(), ["planner"]);
    assert!(run.input().contains("has to be replaced: the answer has no list of tasks"), "{}", run.input());
    let run = Run::alone(&team, (0..6).map(|_| good("Hm.")));
    assert_eq!(run.failure(), ("plan_invalid", "after 5 new plans: the answer has no list of tasks"));
    let four = (0..4).map(|_| good("Hm."));
    let run = Run::alone(&team, four.chain([plan(), failed("x"), reflect("replan"), plan()]));
    assert_eq!(run.calls(), ["t1/a"]);
}

/// PR-05
#[test]
fn a_task_for_an_unknown_agent_has_failed() {
    let plan =
        good(json!({ "tasks": [{ "agent": "x", "task": "Measure." }, { "agent": "a", "task": "Draw." }] }));
    let run = Run::alone(&crew(), [plan.clone()]);
    assert_eq!(run.calls(), ["reflector"]);
    assert!(run.input().contains(r#"Error: there is no agent "x" in the team"#), "{}", run.input());
    assert_eq!(Run::alone(&crew(), [plan.clone(), reflect("continue")]).calls(), ["t2/a"]);
    let helper = good(json!({ "tasks": [{ "agent": "planner", "task": "Plan." }] }));
    assert_eq!(Run::alone(&crew(), [helper]).calls(), ["reflector"]);
}

/// PR-05, PR-10
#[test]
fn whoever_calls_off_a_part_calls_off_the_run() {
    let off = || bad(Status::Canceled, "by the user");
    for (answers, agent) in [
        (vec![off()], "planner"),
        (vec![plan(), off()], "a"),
        (vec![plan(), good("1"), good("2"), off()], "reflector"),
    ] {
        let message = format!("{agent}: by the user");
        assert_eq!(Run::alone(&crew(), answers).failure(), ("aborted", message.as_str()));
    }
}

/// PR-05
#[test]
fn a_failed_planner_or_reflector_fails_the_run() {
    assert_eq!(Run::alone(&crew(), [failed("x")]).failure(), ("agent_failed", "planner: x"));
    let run = Run::alone(&crew(), [plan(), failed("x"), failed("y")]);
    assert_eq!(run.failure(), ("agent_failed", "reflector: y"));
}

/// PR-05
#[test]
fn a_reflection_that_cannot_be_read_is_asked_for_again() {
    let run = Run::alone(&crew(), [plan(), failed("x"), good("Well.")]);
    assert_eq!(run.calls(), ["reflector"]);
    assert!(run.input().contains("could not be read: there is no next_action in it."), "{}", run.input());
    let run = Run::alone(&crew(), [plan(), failed("x"), good("Well."), reflect("retry")]);
    assert_eq!(run.calls(), ["t1/a"]);
    let run = Run::alone(&crew(), [plan(), failed("x"), good("1"), good("2"), good("3")]);
    assert_eq!(run.failure(), ("reflection_invalid", "there is no next_action in it"));
}
