//! ST-12..ST-14: what memory is told.

use super::*;
use crate::fixtures::{Run, bad, failed, good, hand_over, team};

fn last(team: &Team, run: &Run) -> Finished {
    finished(team, run.rounds.last().unwrap()).pop().unwrap()
}

/// ST-14
#[test]
fn every_end_has_its_word() {
    let team = team("sequential", &["a"]);
    for (status, word, error) in [
        (Status::Success, "completed", None),
        (Status::Partial, "partial", None),
        (Status::Failed, "failed", Some("failed")),
        (Status::Canceled, "aborted", Some("canceled")),
        (Status::Timeout, "timeout", Some("timeout")),
    ] {
        let run = Run::alone(&team, [Outcome { status, ..good("x") }]);
        let deliverable = error.is_none().then(|| json!("x"));
        let agent = "a".to_owned();
        let error = error.map(str::to_owned);
        let expected =
            Finished { agent, status: word, task: None, deliverable, error, task_id: None, replies: vec![] };
        assert_eq!(last(&team, &run), expected);
    }
}

/// ST-12
#[test]
fn who_hands_over_delivers_nothing_yet() {
    let crew = team("hierarchical", &["m", "a"]);
    let run = Run::alone(&crew, [hand_over("a", "Look.")]);
    assert_eq!((last(&crew, &run).deliverable, last(&crew, &run).status), (None, "completed"));
    let run = Run::alone(&crew, [hand_over("a", "Look."), hand_over("m", "No, you.")]);
    let part = last(&crew, &run);
    assert_eq!((part.task.as_deref(), part.deliverable.is_some()), (Some("Look."), true));
    let crew = team("dynamic", &["a", "b"]);
    assert_eq!(last(&crew, &Run::alone(&crew, [hand_over("b", "x")])).deliverable, None);
    let crew = team("sequential", &["a", "b"]);
    assert!(last(&crew, &Run::alone(&crew, [hand_over("b", "x")])).deliverable.is_some());
}

/// ST-14, PR-05
#[test]
fn a_task_of_a_plan_is_told_with_its_text_and_id() {
    let crew = team("react", &["a"]);
    let plan = good(json!({ "tasks": [{ "agent": "a", "task": "Measure." }] }));
    let part = last(&crew, &Run::alone(&crew, [plan, failed("no ruler")]));
    assert_eq!((part.task.as_deref(), part.task_id.as_deref()), (Some("Measure."), Some("t1")));
    assert_eq!((part.status, part.error.as_deref(), part.deliverable), ("failed", Some("no ruler"), None));
}

/// PR-06
#[test]
fn results_of_a_map_are_told_in_task_order() {
    let crew = team("map_reduce", &["a", "b", "r"]);
    let plan = json!([{ "agent_id": "b", "input": "1" }, { "agent_id": "a", "input": "2" }]);
    let ends = vec![good("one"), bad(Status::Timeout, "")];
    let run = Run::of(&crew, [vec![good(plan)], ends]);
    let expected = [
        json!({ "task_id": "t1", "agent_id": "b", "status": "completed", "input": "1", "output": "one", "error": null }),
        json!({ "task_id": "t2", "agent_id": "a", "status": "timeout", "input": "2", "output": null, "error": "timeout" }),
    ];
    assert_eq!(map_results(&run.rounds[1]), expected);
    assert_eq!(map_results(&run.rounds[0]), [Value::Null; 0]);
    let tasks: Vec<_> = finished(&crew, &run.rounds[1]).into_iter().map(|part| part.task).collect();
    assert_eq!(tasks, [Some("t1".to_owned()), Some("t2".to_owned())]);
}
