//! PR-01, and the retries of PR-11.

use crate::{
    Role, Status, Task,
    fixtures::{QUERY, Run, bad, failed, good, patient, team},
};
use serde_json::json;

/// PR-01
#[test]
fn members_work_in_declared_order() {
    let run =
        Run::alone(&team("sequential", &["c", "a", "b"]), [good("1"), good("2"), good(json!({ "n": 3 }))]);
    assert_eq!(run.called(), ["c", "a", "b"]);
    assert_eq!(run.output(), &json!({ "n": 3 }));
    for round in &run.rounds {
        assert_eq!(round.tasks, [Task::ask(&round.tasks[0].agent, Role::Agent, QUERY)]);
    }
}

/// PR-01
#[test]
fn a_failed_agent_stops_the_chain() {
    let team = team("sequential", &["a", "b", "c"]);
    for (end, message) in [
        (failed("no idea"), "b: no idea"),
        (bad(Status::Failed, ""), "b: failed"),
        (bad(Status::Canceled, ""), "b: canceled"),
        (bad(Status::Timeout, " "), "b: timeout"),
    ] {
        let run = Run::alone(&team, [good("1"), end]);
        assert_eq!(run.called(), ["a", "b"]);
        assert_eq!(run.failure(), ("agent_failed", message));
    }
}

/// PR-01
#[test]
fn a_partial_result_is_one_to_go_on_with() {
    let team = team("sequential", &["a", "b"]);
    let mut half = good("half");
    half.status = Status::Partial;
    assert_eq!(Run::alone(&team, [half]).calls(), ["b"]);
}

/// PR-01, PR-10: a round that was interrupted is not in the transcript and is made again, as it was.
#[test]
fn an_agent_that_stays_active_is_run_again() {
    let team = team("sequential", &["a", "b"]);
    let run = Run::alone(&team, [good("1"), good("2")]);
    assert_eq!(crate::next(&team, QUERY, &run.rounds[..1]), crate::Act::Round(run.rounds[1].tasks.clone()));
    assert_eq!(run.called(), ["a", "b"]);
}

/// PR-11
#[test]
fn nothing_is_tried_again_unless_the_team_says_so() {
    assert_eq!(Run::alone(&team("sequential", &["a"]), [failed("x")]).failure(), ("agent_failed", "a: x"));
}

/// PR-11
#[test]
fn a_failure_counts_after_the_retries() {
    let team = patient("sequential", &["a", "b"], 2);
    let timeout = || bad(Status::Timeout, "");
    let run = Run::alone(&team, [failed("x"), timeout(), good("1"), failed("y")]);
    assert_eq!(run.called(), ["a", "a", "a", "b"]);
    assert_eq!(run.rounds[0].tasks, run.rounds[1].tasks);
    assert_eq!(run.calls(), ["b"]);
    let run = Run::alone(&team, [failed("x"), timeout(), failed("z")]);
    assert_eq!(run.failure(), ("agent_failed", "a: z"));
    let run = Run::alone(&team, [bad(Status::Canceled, "enough")]);
    assert_eq!(run.failure(), ("agent_failed", "a: enough"));
}

/// PR-11
#[test]
fn a_run_ends_with_its_last_round() {
    let mut team = patient("sequential", &["a", "b"], 5);
    team.limits.max_rounds = 2;
    assert_eq!(Run::alone(&team, [good("1"), good("2")]).output(), "2");
    let run = Run::alone(&team, [failed("x"), good("1")]);
    assert_eq!(run.failure(), ("max_rounds", "the run is not at its end after 2 rounds"));
}

/// The team was changed while it ran.
#[test]
fn a_transcript_of_another_team_is_refused() {
    let run = Run::alone(&team("sequential", &["a", "b"]), [good("1"), good("2")]);
    let other = crate::next(&team("sequential", &["a", "c", "b"]), QUERY, &run.rounds);
    let message = "round 2 of the transcript has no answer of c; was the team changed meanwhile?";
    assert_eq!(other, crate::Act::fail("transcript_invalid", message));
}
