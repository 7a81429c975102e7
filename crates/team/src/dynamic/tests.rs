//! PR-02.

use crate::{
    Team,
    fixtures::{QUERY, Run, document, failed, good, hand_over, patient, team},
};
use serde_json::{Value, json};

fn ids(run: &Run) -> Vec<&str> {
    run.tasks()[0].delegates.iter().map(|delegate| delegate.id.as_str()).collect()
}

/// PR-02
#[test]
fn a_run_ends_with_the_first_who_does_not_hand_over() {
    let team = team("dynamic", &["a", "b", "c"]);
    let run = Run::alone(&team, [hand_over("c", "Look it up."), hand_over("a", " "), good("done")]);
    assert_eq!(run.called(), ["a", "c", "a"]);
    assert_eq!(run.output(), "done");
    let inputs: Vec<&str> = run.rounds.iter().map(|round| round.tasks[0].input.as_str()).collect();
    assert_eq!(inputs, [QUERY, "Look it up.", QUERY]);
    assert_eq!(Run::alone(&team, [good("at once")]).output(), "at once");
}

/// PR-02
#[test]
fn it_starts_at_the_entry() {
    let mut given = document("dynamic", &["a", "b"]);
    given["entry"] = json!("b");
    assert_eq!(Run::alone(&Team::parse(&given).unwrap(), []).calls(), ["b"]);
}

/// PR-02
#[test]
fn a_member_hands_over_only_to_whom_it_may() {
    let mut given = document("dynamic", &["a", "b", "c"]);
    given["agents"][0]["can_delegate_to"] = json!(["c"]);
    given["agents"][2]["can_delegate_to"] = json!([]);
    let team = Team::parse(&given).unwrap();
    let run = Run::alone(&team, []);
    assert_eq!(ids(&run), ["c"]);
    assert_eq!(run.tasks()[0].delegates[0].description.as_deref(), Some("Does what c does."));
    assert_eq!(ids(&Run::alone(&team, [hand_over("c", "x")])), [""; 0]);
    let run = Run::alone(&team, [hand_over("b", "x")]);
    assert_eq!(run.failure(), ("delegation_target_invalid", r#"a handed over to "b", and may not"#));
    let run = Run::alone(&team, [hand_over("c", "x"), hand_over("a", "y")]);
    assert_eq!(run.failure().0, "delegation_target_invalid");
}

/// PR-02
#[test]
fn a_target_outside_the_team_is_a_failure() {
    let team = team("dynamic", &["a", "b"]);
    for (to, message) in [
        (json!("x"), r#"a handed over to "x", who is not in the team"#),
        (json!(""), r#"a handed over to "", who is not in the team"#),
        (json!(7), r#"a handed over to "7", who is not in the team"#),
        (json!("a"), r#"a handed over to "a", and may not"#),
        (json!("team_crew"), r#"a handed over to "team_crew", who is not in the team"#),
    ] {
        let run = Run::alone(&team, [good(json!({ "delegate_to": to, "task": "t" }))]);
        assert_eq!(run.failure(), ("delegation_target_invalid", message));
    }
}

/// PR-02
#[test]
fn of_several_delegations_the_first_is_followed() {
    let team = team("dynamic", &["a", "b", "c"]);
    let two: Value = json!([{ "delegate_to": "c", "task": "1" }, { "delegate_to": "b", "task": "2" }]);
    let run = Run::alone(&team, [good(two)]);
    assert_eq!((run.calls(), run.input()), (vec!["c".to_owned()], "1"));
}

/// PR-02
#[test]
fn what_goes_in_circles_ends_with_its_limit() {
    let mut team = team("dynamic", &["a", "b"]);
    team.limits.max_rounds = 6;
    let circle = (0..6).map(|round| hand_over(if round % 2 == 0 { "b" } else { "a" }, "you do it"));
    assert_eq!(Run::alone(&team, circle).failure().0, "max_rounds");
}

/// PR-02, PR-11
#[test]
fn a_failed_agent_is_tried_again_and_then_ends_the_run() {
    let team = patient("dynamic", &["a", "b"], 1);
    let run = Run::alone(&team, [failed("x"), hand_over("b", "t"), failed("y"), failed("z")]);
    assert_eq!(run.called(), ["a", "a", "b", "b"]);
    assert_eq!(run.failure(), ("agent_failed", "b: z"));
}
