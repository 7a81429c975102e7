//! Rules of turns that are taken back (WD-04, WD-05), without a store.

use super::*;
use crate::{
    fixtures::agent::{TestAgent, json},
    turn::{Command, Fence, claim::LeaseKind, report::AfterExecution},
    watchdog::{self, Due, Policy},
};
use cardwire_model::{InboxKind, Status, TaskStatus, card::ToolStatus};

const SECRET: [u8; 32] = [7; 32];

/// What the watchdog takes back now.
fn overdue(agent: &TestAgent) -> Option<Overdue> {
    let (head, policy, now) = (agent.head.as_ref()?, Policy::default(), agent.moment.now);
    let row = head.live.as_ref().and_then(|live| agent.row(live.turn_id));
    let of_head = watchdog::due_head(head, row, &policy, now);
    let of_rows = agent.inbox.iter().filter_map(|row| watchdog::due_item(row, Some(head), &policy, now));
    of_head.into_iter().chain(of_rows).find_map(|due| match due {
        Due::TakeBack(overdue) => Some(overdue),
        Due::Turn(_) | Due::DispatchNext(_) | Due::Rebuild(_) => None,
    })
}

/// F-03, WD-04: without a time-out of the operator's, work that nobody serves waits, and is rung for all the time.
#[test]
fn a_turn_that_nobody_claims_waits_and_is_rung_for() {
    let (mut agent, policy) = (TestAgent::new(), Policy::default());
    let turn = agent.dispatch().turn_id;
    for seconds in [11, 11, 9, 3_600, 24 * 3_600] {
        agent.later(seconds);
        let (head, row) = (agent.head.clone().unwrap(), agent.row(turn).cloned().unwrap());
        let of_head = watchdog::due_head(&head, Some(&row), &policy, agent.moment.now);
        let of_row = watchdog::due_item(&row, Some(&head), &policy, agent.moment.now);
        let due: Vec<_> = of_head.into_iter().chain(of_row).collect();
        assert!(!due.is_empty(), "{seconds}");
        for due in due {
            let Due::Turn(command @ Command::Ring(..)) = due else { panic!("{due:?}") };
            assert_eq!(agent.run(&command), Ok(Outcome::Rung));
        }
        let live = agent.head.as_ref().unwrap().live.as_ref().unwrap();
        assert_eq!((live.state, live.rung_at), (LiveState::Dispatched, Some(agent.moment.now)));
    }
    assert_eq!((agent.claim(true).leases.len(), agent.epoch().get()), (1, 1));
    assert_eq!((agent.inbox.len(), agent.task_events(turn)), (1, 0));
}

/// The command, as the kernel makes it.
fn taking_back(agent: &TestAgent, overdue: Overdue) -> Command {
    let lost = agent.steps.iter().filter(|step| step.phase == PHASE).count() as u32;
    let holder = Some(Hash256::of(&SECRET));
    // Each lease has a secret of its own; those of a test are all the same.
    let holder = holder.filter(|_| lost == 0);
    Command::TakeBack(TakeBack { overdue, holder, lost, most: 3, remains: Remains::default() })
}

fn start(agent: &mut TestAgent, epoch: TurnEpoch) -> Result<Outcome, Rejection> {
    let fence = Fence { epoch, ..agent.fence() };
    agent.run(&Command::Start(fence))
}

/// F-03, WD-04
#[test]
fn a_claim_without_a_start_is_taken_back_and_a_late_start_is_refused() {
    let mut agent = TestAgent::new();
    let turn = agent.dispatch().turn_id;
    let dispatched_at = agent.head.as_ref().unwrap().live.as_ref().unwrap().dispatched_at;
    agent.later(5);
    agent.claim(false);
    agent.later(30);
    assert_eq!(overdue(&agent), None, "it has 30 s");
    agent.later(1);
    let found = overdue(&agent).expect("it is overdue");
    assert_eq!(agent.run(&taking_back(&agent, found)), Ok(Outcome::TakenBack(TurnEpoch::new(2))));
    let row = agent.row(turn).unwrap();
    assert_eq!((row.status, row.epoch), (InboxStatus::Pending, Some(TurnEpoch::new(2))));
    let live = agent.head.as_ref().unwrap().live.as_ref().unwrap();
    assert_eq!(live.dispatched_at, dispatched_at, "invariant 8");
    let late = start(&mut agent, TurnEpoch::new(1));
    assert_eq!(late, Err(Rejection::StaleTurn(turn, 1)));
    assert_eq!(agent.claim(false).leases[0].epoch, TurnEpoch::new(2));
    assert_eq!(start(&mut agent, TurnEpoch::new(2)), Ok(Outcome::Running));
    agent.run(&TestAgent::finish(&agent.fence())).unwrap();
    assert_eq!((agent.inbox.len(), agent.task_events(turn)), (1, 1));
    assert_eq!(Some(agent.steps[0].id.clone()), step_of(Hash256::of(&SECRET)));
}

/// WD-04: three claims without a start, and it ends as if nobody had served it.
#[test]
fn the_last_attempt_ends_the_turn() {
    let mut agent = TestAgent::new();
    let turn = agent.dispatch().turn_id;
    for attempt in 1..=3 {
        assert_eq!(agent.claim(false).leases.len(), 1, "{attempt}");
        agent.later(31);
        let found = overdue(&agent).expect("it is overdue");
        agent.run(&taking_back(&agent, found)).unwrap();
    }
    let ended = agent.row(turn).unwrap().ended.clone().unwrap();
    assert_eq!((ended.status, ended.error.as_deref()), (TaskStatus::Timeout, Some("dispatch_timeout")));
    assert_eq!((agent.inbox.len(), agent.task_events(turn)), (1, 1));
    assert_eq!((agent.epoch().get(), agent.head.as_ref().unwrap().status()), (4, Status::Idle));
}

/// WD-04, F-32: the same for a turn that was given to a worker to go on with.
#[test]
fn a_turn_that_was_to_go_on_is_taken_back_too() {
    let (mut agent, fence) = TestAgent::running();
    agent.run(&agent.tool_call(&fence, "c")).unwrap();
    agent.run(&TestAgent::suspend(&fence, &["c"])).unwrap();
    agent.run(&TestAgent::report(&fence, "c", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
    assert_eq!(agent.claim(false).leases[0].kind, LeaseKind::Resume);
    agent.later(31);
    let found = overdue(&agent).expect("it is overdue");
    assert_eq!(agent.run(&taking_back(&agent, found)), Ok(Outcome::TakenBack(fence.epoch.next())));
    assert!(matches!(start(&mut agent, fence.epoch), Err(Rejection::StaleTurn(..))));
    let [again] = &agent.claim(true).leases[..] else { panic!("nothing was given") };
    assert_eq!((again.kind, again.epoch), (LeaseKind::Resume, fence.epoch.next()));
    assert!(agent.inbox.iter().all(|row| row.kind == InboxKind::Turn || !row.status.is_open()));
}

/// F-08, WD-05: only a worker that was not heard of since it was looked at loses its turn.
#[test]
fn a_silent_worker_loses_its_turn_unless_it_is_heard_of_meanwhile() {
    let (mut agent, fence) = TestAgent::running();
    let listening = agent.moment.now;
    let silent = |agent: &TestAgent, listening| {
        watchdog::silent(agent.head.as_ref().unwrap(), &Policy::default(), listening, agent.moment.now)
    };
    agent.run(&agent.tool_call(&fence, "c")).unwrap();
    agent.later(30);
    assert_eq!((silent(&agent, listening), overdue(&agent)), (None, None));
    agent.later(1);
    let found = silent(&agent, listening).expect("it is silent");
    assert_eq!(silent(&agent, listening.plus_seconds(1)), None, "nobody could have heard of it before");
    assert_eq!(overdue(&agent), None, "the watchdog alone does nothing yet");
    let mut heard = agent.clone();
    heard.run(&Command::Heartbeat(fence.clone())).unwrap();
    assert_eq!(heard.run(&taking_back(&heard, found)), Ok(Outcome::Nothing));
    assert_eq!(agent.run(&taking_back(&agent, found)), Ok(Outcome::TakenBack(fence.epoch.next())));
    assert!(matches!(agent.run(&Command::Heartbeat(fence.clone())), Err(Rejection::StaleTurn(..))));
    assert_eq!(agent.claim(true).leases[0].epoch, fence.epoch.next());
    let open = agent.calls.iter().filter(|call| call.answer.is_none()).count();
    assert_eq!(open, 1, "its calls are left to the next holder");
}

/// A worker that starts at the same moment is not cut off by what was seen before.
#[test]
fn who_starts_in_time_keeps_the_turn() {
    let mut agent = TestAgent::new();
    agent.dispatch();
    agent.claim(false);
    agent.later(31);
    let found = overdue(&agent).unwrap();
    let command = taking_back(&agent, found);
    start(&mut agent, found.epoch).unwrap();
    assert_eq!(agent.run(&command), Ok(Outcome::Nothing));
}

/// SEC-07: 1 to 100 attempts; what is out of range, or no number, is the usual three.
#[test]
fn a_profile_says_how_many_attempts_its_turns_have() {
    let named = |text: &str| attempts(Some(&json(text)));
    assert_eq!((attempts(None), named("{}"), named(r#"{"max_attempts":1}"#)), (3, 3, 1));
    assert_eq!((named(r#"{"max_attempts":100}"#), named(r#"{"max_attempts":101}"#)), (100, 3));
    assert_eq!((named(r#"{"max_attempts":0}"#), named(r#"{"max_attempts":"5"}"#), named("7")), (3, 3, 3));
}

/// A step of that name may be there already, written by a worker.
#[test]
fn a_step_of_the_same_name_does_not_keep_a_turn_from_being_taken_back() {
    let (mut agent, fence) = TestAgent::running();
    let id = step_of(Hash256::of(&SECRET));
    let step = crate::turn::step::NewStep { id: id.clone(), ..TestAgent::new_step() };
    let take = crate::turn::step::TakeStep { fence: fence.clone(), step, records: vec![] };
    agent.run(&Command::Step(take)).unwrap();
    agent.later(31);
    let found = watchdog::silent(
        agent.head.as_ref().unwrap(),
        &Policy::default(),
        Timestamp::from_micros(0),
        agent.moment.now,
    );
    let found = found.unwrap();
    assert_eq!(agent.run(&taking_back(&agent, found)), Ok(Outcome::TakenBack(fence.epoch.next())));
    let ids: Vec<_> = agent.steps.iter().map(|step| Some(step.id.clone())).collect();
    assert_eq!((ids.len(), &ids[0]), (2, &id));
    assert_ne!(ids[1], id);
}
