//! PR-03.

use crate::{
    Role, Status, Task, Team,
    fixtures::{QUERY, Run, bad, document, failed, good, hand_over, patient, team},
};
use insta::assert_snapshot;
use serde_json::json;

/// PR-03: what the sub-agent is asked is the assigned text, not the user's.
#[test]
fn the_assigned_task_becomes_the_query() {
    let run = Run::alone(&team("hierarchical", &["m", "a", "b"]), [hand_over("b", "Count the waves.")]);
    let expected = Task {
        assigned_task: Some("Count the waves.".to_owned()),
        ..Task::ask("b", Role::Agent, "Count the waves.")
    };
    assert_eq!(run.tasks(), [expected]);
}

/// PR-03
#[test]
fn a_hand_over_without_a_task_assigns_the_query() {
    let run = Run::alone(&team("hierarchical", &["m", "a"]), [hand_over("a", "  ")]);
    assert_eq!((run.input(), run.tasks()[0].assigned_task.as_deref()), (QUERY, Some(QUERY)));
}

/// PR-03
#[test]
fn sub_agents_always_return_to_the_manager() {
    let team = team("hierarchical", &["m", "a", "b"]);
    let run = Run::alone(&team, []);
    assert_eq!((run.calls(), run.input(), run.tasks()[0].role), (vec!["m".to_owned()], QUERY, Role::Manager));
    let delegates: Vec<&str> = run.tasks()[0].delegates.iter().map(|to| to.id.as_str()).collect();
    assert_eq!(delegates, ["a", "b"]);

    // A sub-agent has nobody to hand over to; what it says is its result.
    let answers = [hand_over("a", "1"), hand_over("b", "2"), hand_over("b", "3"), good("x"), good("the end")];
    let run = Run::alone(&team, answers);
    assert_eq!(run.called(), ["m", "a", "m", "b", "m"]);
    assert_eq!(run.output(), "the end");
}

/// PR-03
#[test]
fn the_manager_is_told_the_results_so_far() {
    let fields = json!({ "fields": [{ "name": "waves", "value": 7 }, { "name": "boats", "value": 2 }] });
    let answers = [
        hand_over("a", "1"),
        good(fields),
        hand_over("b", "2"),
        failed("fell into the water"),
        hand_over("b", "3"),
        bad(Status::Canceled, ""),
    ];
    let run = Run::alone(&team("hierarchical", &["m", "a", "b"]), answers);
    assert_eq!(run.calls(), ["m"]);
    assert_snapshot!(run.input(), @r"
    Write about tides.

    Results of your team so far:
    - a: waves: 7
      boats: 2
    - b: failed: fell into the water
    - b: failed: canceled
    ");
}

/// PR-03
#[test]
fn a_failed_manager_fails_the_run() {
    let run =
        Run::alone(&team("hierarchical", &["m", "a"]), [hand_over("a", "1"), good("x"), failed("tired")]);
    assert_eq!(run.failure(), ("agent_failed", "m: tired"));
}

/// PR-03
#[test]
fn the_manager_assigns_only_to_its_team() {
    let team = team("hierarchical", &["m", "a"]);
    for to in ["x", "m"] {
        assert_eq!(Run::alone(&team, [hand_over(to, "1")]).failure().0, "delegation_target_invalid");
    }
    let mut given = document("hierarchical", &["m", "a", "b"]);
    given["agents"][0]["can_delegate_to"] = json!(["b"]);
    let team = Team::parse(&given).unwrap();
    assert_eq!(Run::alone(&team, []).tasks()[0].delegates.len(), 1);
    assert_eq!(Run::alone(&team, [hand_over("a", "1")]).failure().0, "delegation_target_invalid");
}

/// PR-03
#[test]
fn a_manager_that_never_has_enough_ends_with_its_limit() {
    let mut team = team("hierarchical", &["m", "a"]);
    team.limits.max_rounds = 4;
    let answers = [hand_over("a", "1"), good("x"), hand_over("a", "2"), good("y")];
    assert_eq!(Run::alone(&team, answers).failure().0, "max_rounds");
}

/// PR-11
#[test]
fn a_sub_agent_is_tried_again_before_the_manager_is_told() {
    let team = patient("hierarchical", &["m", "a"], 1);
    let run = Run::alone(&team, [hand_over("a", "1"), failed("x"), good("y")]);
    assert_eq!(run.called(), ["m", "a", "a"]);
    assert!(run.input().ends_with("\n- a: y"), "{}", run.input());
}
