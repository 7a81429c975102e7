//! Steps: what is kept of them, and on which rows they may be decided.

use super::due;
use crate::{
    fixtures::{self, agent::TestAgent, project},
    turn::{
        Command,
        step::{NewStep, TakeStep, decide_unmoved},
    },
};
use cardwire_model::{Commit, Status, Write};

/// WK-05, NF-03: a step that was decided on rows of before stands only if the turn has not moved.
#[test]
fn a_step_on_rows_of_before_needs_a_turn_that_was_left_alone() {
    let (mut agent, fence) = TestAgent::running();
    let step = TestAgent::new_step();
    let step = TakeStep { fence: fence.clone(), step, records: vec![] };
    let decided = |agent: &TestAgent| {
        let seen = agent.for_turn(fence.turn_id);
        decide_unmoved(&seen, &project(), &step, &agent.moment).unwrap().commit
    };
    let holds = |commit: &Commit, agent: &TestAgent| {
        let guard = agent.head.as_ref().unwrap().guard_move();
        let unmoved = |write: &Write| matches!(write, Write::NudgeHead { guard: held, .. } if *held == guard);
        commit.writes.iter().any(unmoved)
    };
    let commit = decided(&agent);
    agent.run(&Command::Heartbeat(fence.clone())).unwrap();
    assert!(holds(&commit, &agent));
    agent.run(&agent.tool_call(&fence, "c1")).unwrap();
    assert!(!holds(&commit, &agent), "a tool was called");
    let commit = decided(&agent);
    agent.run(&TestAgent::suspend(&fence, &["c1"])).unwrap();
    agent.later(60);
    let commands = due(&agent);
    agent.run(&commands[0]).unwrap();
    assert_eq!(agent.claim(true).leases.len(), 1);
    assert_eq!((agent.fence(), agent.head.as_ref().unwrap().status()), (fence.clone(), Status::Running));
    assert!(!holds(&commit, &agent), "the turn has waited since");
    assert!(holds(&decided(&agent), &agent));
}

/// API-17: steps carry `call_id` when they called a model, whatever is said of them afterwards.
#[test]
fn a_step_that_is_written_again_keeps_its_call() {
    let (mut agent, fence) = TestAgent::running();
    let mut take = |call: Option<&str>, request_box, phase: &str| {
        let step = NewStep {
            id: Some("step_1".parse().unwrap()),
            phase: phase.to_owned(),
            call_id: call.map(str::to_owned),
            request_box,
            ..TestAgent::new_step()
        };
        agent.run(&Command::Step(TakeStep { fence: fence.clone(), step, records: vec![] })).unwrap();
        let step = agent.steps[0].clone();
        (step.phase, step.call_id, step.request_box)
    };
    let own =
        |phase: &str, call: &str, n| (phase.to_owned(), Some(call.to_owned()), Some(fixtures::box_id(n)));
    assert_eq!(take(Some("call_1"), Some(fixtures::box_id(1)), "call"), own("call", "call_1", 1));
    assert_eq!(take(None, None, "act"), own("act", "call_1", 1));
    assert_eq!(take(Some("call_2"), None, "call"), own("call", "call_2", 1), "another call takes its place");
}
