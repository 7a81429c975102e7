//! The rules of turns, one by one, on one agent.

mod steps;

use super::{
    Command, Fence, Outcome, Proof,
    ending::Remains,
    finish::Deliverable,
    reap::{Cause, Reap},
    reason::Reason,
    release::Release,
    report::{AfterExecution, Reported},
    stop::Stop,
};
use crate::{
    RefusalCode, Rejection,
    fixtures::{
        self,
        agent::{CONTEXT, TestAgent, box_head, json},
        project,
    },
    turn::dispatch::Dispatched,
    watchdog::{self, Due, Policy},
};
use cardwire_model::{
    InboxKind, InboxStatus, LiveState, Status, TaskStatus, TurnEpoch, TurnId, TurnPayload, card::ToolStatus,
    limits,
};

fn refused(result: Result<Dispatched, Rejection>) -> RefusalCode {
    match result {
        Err(Rejection::Refused(refusal)) => refusal.code,
        other => panic!("{other:?}"),
    }
}

/// DP-03: the first thing that is missing is named.
#[test]
fn a_dispatch_is_checked_in_order() {
    let mut agent = TestAgent::new();
    let mut command = agent.dispatch_command();
    command.agent_id = None;
    command.profile_box = None;
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::MissingAgentId);
    command.agent_id = Some("a".parse().unwrap());
    command.context_box = None;
    agent.is_listed = false;
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::MissingProfileBoxId);
    agent.is_listed = true;
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::MissingContextBoxId);
    command.profile_box = Some(fixtures::box_id(99));
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::MissingContextBoxId);
    command.context_box = Some(fixtures::box_id(98));
    command.parent_turn = Some(TurnId::from_uuid(uuid::Uuid::from_u128(5)));
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::ProtocolViolation);
    command.parent_turn = None;
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::ProfileBoxNotFound);
    command.profile_box = Some(fixtures::box_id(1));
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::ContextBoxNotFound);
    command.context_box = Some(fixtures::box_id(CONTEXT));
    command.output_box = Some(fixtures::box_id(97));
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::UnknownOutputBox);
    assert!(agent.inbox.is_empty() && agent.head.is_none() && agent.edges.is_empty());
}

/// DP-03, F-14
#[test]
fn a_dispatch_without_a_profile_takes_the_agents_own() {
    let mut agent = TestAgent::new();
    let mut command = agent.dispatch_command();
    command.profile_box = None;
    // The roster is trusted: the box is not looked up again.
    agent.boxes.remove(&agent.roster().profile_box);
    agent.try_dispatch(&command).unwrap();
    assert_eq!(
        TurnPayload::from_stored(&agent.inbox[0].payload).unwrap().profile_box,
        agent.roster().profile_box
    );
}

/// DP-04: max 3: below a turn of depth 1 is accepted, below one of depth 2 is not.
#[test]
fn depth_comes_from_stored_lineage() {
    let mut agent = TestAgent::new();
    let mut parent = None;
    for depth in 0..4 {
        let mut command = agent.dispatch_command();
        command.max_depth = 3;
        command.parent_turn = parent;
        match agent.try_dispatch(&command) {
            Ok(Dispatched::Accepted(receipt)) if depth < 3 => {
                assert_eq!(agent.row(receipt.turn_id).unwrap().depth, Some(depth));
                parent = Some(receipt.turn_id);
            }
            other => {
                assert_eq!(depth, 3);
                assert_eq!(refused(other), RefusalCode::RecursionDepthExceeded);
            }
        }
    }
}

/// DP-09, NF-10, DP-13: the first is leased, the others wait, and come in their order.
#[test]
fn turns_of_one_agent_run_one_after_the_other() {
    let mut agent = TestAgent::new();
    let receipts: Vec<_> = (0..3).map(|_| agent.dispatch()).collect();
    let epochs: Vec<_> = receipts.iter().map(|receipt| receipt.epoch.map(TurnEpoch::get)).collect();
    assert_eq!(epochs, [Some(1), None, None]);
    for (n, receipt) in receipts.iter().enumerate() {
        agent.claim(true);
        let fence = agent.fence();
        assert_eq!((fence.turn_id, fence.epoch.get()), (receipt.turn_id, n as u64 + 1));
        agent.run(&TestAgent::finish(&fence)).unwrap();
        assert_eq!(agent.task_events(receipt.turn_id), 1);
    }
    assert_eq!(agent.head.as_ref().unwrap().status(), Status::Idle);
}

/// DP-09: `busy` only where queuing is impossible or refused. SEC-07: 999 turns wait behind the live one, not 1,000.
#[test]
fn a_full_inbox_and_an_impatient_caller_are_told_that_the_agent_is_busy() {
    let mut agent = TestAgent::new();
    agent.dispatch();
    let mut impatient = agent.dispatch_command();
    impatient.queue_if_busy = false;
    assert_eq!(refused(agent.try_dispatch(&impatient)), RefusalCode::AgentBusy);
    agent.head.as_mut().unwrap().queued = limits::INBOX_TURNS - 2;
    agent.dispatch();
    let command = agent.dispatch_command();
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::InboxFull);
}

/// DP-10, X-12
#[test]
fn the_same_request_is_the_same_turn_and_another_is_refused() {
    let mut agent = TestAgent::new();
    let mut command = agent.dispatch_command();
    let turn = TurnId::from_uuid(uuid::Uuid::from_u128(77));
    command.turn_id = Some(turn);
    assert!(matches!(agent.try_dispatch(&command), Ok(Dispatched::Accepted(_))));
    command.trace_id = "another".to_owned();
    assert_eq!(agent.try_dispatch(&command), Ok(Dispatched::Repeated(turn)));
    command.display_name = Some("other".to_owned());
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::DuplicateCorrelation);
    assert_eq!((agent.inbox.len(), agent.edges.len()), (1, 1));
    // The same order under another name is another order, unless it leaves the name to us.
    let mut named = agent.dispatch_command();
    named.correlation_id = Some("order".to_owned());
    let Ok(Dispatched::Accepted(receipt)) = agent.try_dispatch(&named) else { panic!("not accepted") };
    assert_eq!(agent.try_dispatch(&named), Ok(Dispatched::Repeated(receipt.turn_id)));
    named.turn_id = Some(receipt.turn_id);
    assert_eq!(agent.try_dispatch(&named), Ok(Dispatched::Repeated(receipt.turn_id)));
    named.turn_id = Some(TurnId::from_uuid(uuid::Uuid::from_u128(78)));
    assert_eq!(refused(agent.try_dispatch(&named)), RefusalCode::DuplicateCorrelation);
}

/// CB-14, X-09: the context is sealed; an output box has one agent writing it.
#[test]
fn a_context_is_sealed_and_an_output_box_has_one_writer() {
    let mut agent = TestAgent::new();
    let free = fixtures::box_id(50);
    agent.boxes.insert(free, (box_head(free), vec![]));
    let mut command = agent.dispatch_command();
    command.output_box = Some(fixtures::box_id(CONTEXT));
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::OutputBoxSealed);
    command.output_box = Some(free);
    agent.try_dispatch(&command).unwrap();
    assert!(agent.boxes[&fixtures::box_id(CONTEXT)].0.sealed);
    let mut snapshot = agent.for_dispatch(&command);
    snapshot.writers = [(free, "other".parse().unwrap())].into();
    let refused_again = super::dispatch::decide(&snapshot, &project(), &command, &agent.moment);
    assert_eq!(refused(refused_again.map(|decision| decision.outcome)), RefusalCode::OutputBoxInUse);
    // The same agent may go on in its own box: its turns run one after the other.
    assert!(agent.try_dispatch(&command).is_ok());
    // What a turn still writes cannot be given to another as its context.
    command.context_box = Some(free);
    command.output_box = None;
    assert_eq!(refused(agent.try_dispatch(&command)), RefusalCode::OutputBoxInUse);
}

/// NF-09: a count of waiting turns that nobody who can be read bears out holds no turn up.
#[test]
fn a_turn_ends_although_one_that_waits_cannot_be_read() {
    let (mut agent, fence) = TestAgent::running();
    agent.head.as_mut().unwrap().queued = 1;
    agent.run(&TestAgent::finish(&fence)).unwrap();
    let head = agent.head.as_ref().unwrap();
    assert_eq!((head.status(), head.queued), (Status::Idle, 0));
}

/// WK-06, NF-04, WD-02
#[test]
fn a_finished_turn_leaves_one_event_one_deliverable_and_an_idle_agent() {
    let (mut agent, fence) = TestAgent::running();
    let output = agent.head.as_ref().unwrap().live.as_ref().unwrap().output_box;
    agent.run(&agent.append(&fence, "agent.thought", r#""t""#, None)).unwrap();
    let outcome = agent.run(&TestAgent::finish(&fence)).unwrap();
    assert!(matches!(outcome, Outcome::Ended { status: TaskStatus::Success, .. }));
    assert_eq!(agent.kinds(output), ["agent.thought", "task.deliverable"]);
    let head = agent.head.as_ref().unwrap();
    assert_eq!((head.status(), head.last_output_box, head.epoch.get()), (Status::Idle, Some(output), 1));
    let row = agent.row(fence.turn_id).unwrap();
    assert_eq!(row.status, InboxStatus::Consumed);
    assert_eq!(row.ended.as_ref().unwrap().output, (0, 2));
    assert!(matches!(agent.run(&TestAgent::finish(&fence)), Err(Rejection::StaleTurn(..))));
    assert_eq!(agent.task_events(fence.turn_id), 1);
}

/// WD-06: a deliverable the turn has written is the one that counts; without any, one is made.
#[test]
fn every_turn_ends_with_a_deliverable() {
    let (mut agent, fence) = TestAgent::running();
    let own = agent.append(&fence, "task.deliverable", r#""mine""#, None);
    let Outcome::Appended { card_ids, .. } = agent.run(&own).unwrap() else { panic!("not appended") };
    let ended = agent.run(&TestAgent::finish_with(&fence, Deliverable::Absent)).unwrap();
    assert_eq!(ended, Outcome::Ended { status: TaskStatus::Success, deliverable: card_ids[0] });

    let (mut agent, fence) = TestAgent::running();
    let Outcome::Ended { deliverable, .. } =
        agent.run(&TestAgent::finish_with(&fence, Deliverable::Absent)).unwrap()
    else {
        panic!("not ended")
    };
    let content = agent.cards[&deliverable].content.to_value();
    assert_eq!(content["kind"], "fallback_deliverable");
    assert_eq!(content["fields"].as_array().unwrap().len(), 3);
}

/// NF-05: what a turn asked and nobody answered is answered when it ends.
#[test]
fn open_tool_calls_are_closed_when_a_turn_ends() {
    for end in [0, 1, 2] {
        let (mut agent, fence) = TestAgent::running();
        let output = agent.head.as_ref().unwrap().live.as_ref().unwrap().output_box;
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        let command = match end {
            0 => TestAgent::finish(&fence),
            1 => Command::Stop(Stop {
                turn_id: fence.turn_id,
                epoch: None,
                reason: None,
                remains: Remains::default(),
            }),
            _ => Command::Reap(Reap {
                turn_id: fence.turn_id,
                epoch: fence.epoch,
                cause: Cause::Silent,
                remains: Remains::default(),
            }),
        };
        agent.run(&command).unwrap();
        let kinds = agent.kinds(output);
        assert_eq!(kinds.iter().filter(|kind| **kind == "tool.result").count(), 1, "{kinds:?}");
        assert_eq!(kinds.last(), Some(&"task.deliverable"));
        assert!(agent.calls.iter().all(|call| call.answer.is_some()));
    }
}

/// WK-08, DP-16
#[test]
fn a_suspended_turn_resumes_once_when_its_last_tool_has_answered() {
    let (mut agent, fence) = TestAgent::running();
    for call in ["c1", "c2"] {
        agent.run(&agent.tool_call(&fence, call)).unwrap();
    }
    assert_eq!(agent.run(&TestAgent::suspend(&fence, &["c1", "c2", "c1"])), Ok(Outcome::Suspended(2)));
    let report = |call| TestAgent::report(&fence, call, ToolStatus::Success, AfterExecution::Suspend);
    agent.run(&report("c1")).unwrap();
    assert!(agent.claim(true).leases.is_empty(), "it still waits");
    let Ok(Outcome::Reported(Reported { repeated: true, .. })) = agent.run(&report("c1")) else {
        panic!("a repeat is not noticed")
    };
    agent.run(&report("c2")).unwrap();
    assert_eq!(agent.claim(true).leases.len(), 1);
    assert!(agent.claim(true).leases.is_empty(), "resumed once");
    assert_eq!(agent.head.as_ref().unwrap().status(), Status::Running);
    assert_eq!(agent.epoch(), fence.epoch);
    let results = agent.inbox.iter().filter(|item| item.kind == InboxKind::ToolResult).count();
    assert_eq!(results, 2, "one row per report");
    let unknown = agent.run(&report("c9"));
    assert!(
        matches!(unknown, Err(Rejection::Refused(refusal)) if refusal.code == RefusalCode::ProtocolViolation)
    );
}

/// WK-08: an answer that comes before the turn suspends is not waited for.
#[test]
fn a_quick_tool_does_not_make_a_turn_wait_for_ever() {
    let (mut agent, fence) = TestAgent::running();
    agent.run(&agent.tool_call(&fence, "c1")).unwrap();
    agent.run(&TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
    assert_eq!(agent.run(&TestAgent::suspend(&fence, &["c1"])), Ok(Outcome::Suspended(0)));
    assert_eq!(agent.claim(false).leases.len(), 1);
    assert_eq!(agent.run(&Command::Start(fence)), Ok(Outcome::Running));
}

/// WK-08: any terminate ends the turn once all have answered; a failed one wins.
#[test]
fn tools_can_end_a_turn() {
    let (mut agent, fence) = TestAgent::running();
    for call in ["c1", "c2"] {
        agent.run(&agent.tool_call(&fence, call)).unwrap();
    }
    agent.run(&TestAgent::suspend(&fence, &["c1", "c2"])).unwrap();
    agent.run(&TestAgent::report(&fence, "c1", ToolStatus::Failed, AfterExecution::Terminate)).unwrap();
    assert_eq!(agent.task_events(fence.turn_id), 0);
    agent.run(&TestAgent::report(&fence, "c2", ToolStatus::Success, AfterExecution::Terminate)).unwrap();
    assert_eq!(agent.task_events(fence.turn_id), 1);
    assert_eq!(agent.row(fence.turn_id).unwrap().ended.as_ref().unwrap().status, TaskStatus::Failed);
    assert_eq!(agent.head.as_ref().unwrap().status(), Status::Idle);
}

/// WK-08: whichever came first. Success comes last.
#[test]
fn wk_08_a_failed_end_wins_over_any_other() {
    for (first, second, expected) in [
        (ToolStatus::Partial, ToolStatus::Failed, TaskStatus::Failed),
        (ToolStatus::Timeout, ToolStatus::Failed, TaskStatus::Failed),
        (ToolStatus::Canceled, ToolStatus::Failed, TaskStatus::Failed),
        (ToolStatus::Success, ToolStatus::Failed, TaskStatus::Failed),
        (ToolStatus::Success, ToolStatus::Partial, TaskStatus::Partial),
    ] {
        let (mut agent, fence) = TestAgent::running();
        for call in ["c1", "c2"] {
            agent.run(&agent.tool_call(&fence, call)).unwrap();
        }
        agent.run(&TestAgent::suspend(&fence, &["c1", "c2"])).unwrap();
        for (call, status) in [("c1", first), ("c2", second)] {
            agent.run(&TestAgent::report(&fence, call, status, AfterExecution::Terminate)).unwrap();
        }
        let ended = agent.row(fence.turn_id).unwrap().ended.as_ref().unwrap().status;
        assert_eq!(ended, expected, "{first:?}, {second:?}");
    }
}

/// WK-09, W-06: a stop is by turn id, live or waiting; a stopped live turn loses its epoch.
#[test]
fn a_stop_ends_a_live_turn_and_a_waiting_one() {
    let (mut agent, fence) = TestAgent::running();
    let waiting = agent.dispatch().turn_id;
    let stop = |turn_id, epoch: Option<u64>| {
        let epoch = epoch.map(TurnEpoch::new);
        Command::Stop(Stop { turn_id, epoch, reason: None, remains: Remains::default() })
    };
    agent.run(&stop(waiting, None)).unwrap();
    assert_eq!(agent.row(waiting).unwrap().status, InboxStatus::Skipped);
    assert_eq!(agent.head.as_ref().unwrap().queued, 0);
    assert!(matches!(agent.run(&stop(fence.turn_id, Some(9))), Err(Rejection::StaleTurn(..))));
    let output = agent.head.as_ref().unwrap().live.as_ref().unwrap().output_box;
    agent.run(&stop(fence.turn_id, Some(1))).unwrap();
    assert_eq!(agent.kinds(output), ["agent.error", "task.deliverable"]);
    assert_eq!((agent.epoch().get(), agent.head.as_ref().unwrap().status()), (2, Status::Idle));
    for turn in [waiting, fence.turn_id] {
        assert_eq!(agent.task_events(turn), 1);
        assert!(matches!(agent.run(&stop(turn, None)), Err(Rejection::StaleTurn(..))));
    }
    assert!(agent.inbox.iter().any(|item| item.kind == InboxKind::Stop), "the worker is told");
}

/// SEC-02: a lease's secret opens its turn and nothing else does, short of an operator.
#[test]
fn a_turn_is_opened_by_the_secret_of_its_lease() {
    let (mut agent, fence) = TestAgent::running();
    let lease = |secret: [u8; 32]| Fence {
        proof: Proof::Lease(cardwire_model::Hash256::of(&secret)),
        ..fence.clone()
    };
    assert_eq!(agent.run(&Command::Heartbeat(lease([7; 32]))), Ok(Outcome::Alive));
    assert_eq!(agent.run(&Command::Heartbeat(lease([8; 32]))), Err(Rejection::Unauthenticated));
}

/// WD-01, WD-03: release and reap raise the epoch, and the old holder changes nothing.
#[test]
fn who_gives_a_turn_back_cannot_write_for_it_any_more() {
    let (mut agent, fence) = TestAgent::running();
    let release = Command::Release(Release {
        fence: fence.clone(),
        defer_seconds: Some(5),
        reason: None,
        keep_calls: false,
    });
    assert_eq!(agent.run(&release), Ok(Outcome::Released(TurnEpoch::new(2))));
    assert_eq!(agent.row(fence.turn_id).unwrap().status, InboxStatus::Deferred);
    assert!(matches!(agent.run(&Command::Heartbeat(fence)), Err(Rejection::StaleTurn(..))));
}

fn due(agent: &TestAgent) -> Vec<Command> {
    due_by(agent, &Policy::default())
}

fn due_by(agent: &TestAgent, policy: &Policy) -> Vec<Command> {
    let head = agent.head.as_ref().unwrap();
    let live = head.live.as_ref().and_then(|live| agent.row(live.turn_id));
    let of_head = watchdog::due_head(head, live, policy, agent.moment.now);
    let of_items =
        agent.inbox.iter().filter_map(|item| watchdog::due_item(item, Some(head), policy, agent.moment.now));
    let commands = of_head.into_iter().chain(of_items).map(|due| match due {
        Due::Turn(command) => command,
        Due::TakeBack(_) | Due::DispatchNext(_) | Due::Rebuild(_) => panic!("{due:?}"),
    });
    commands.collect()
}

/// WD-04, W-04, W-05: where a time-out is set, rings at 11 s and 22 s, the end at 31 s, and one row all the time.
#[test]
fn where_a_time_out_is_set_a_turn_that_nobody_claims_is_taken_away() {
    let policy = Policy { dispatched_timeout: 30, ..Policy::default() };
    let mut agent = TestAgent::new();
    let turn = agent.dispatch().turn_id;
    let dispatched_at = agent.head.as_ref().unwrap().live.as_ref().unwrap().dispatched_at;
    for _ in 0..2 {
        agent.later(11);
        let ring =
            due_by(&agent, &policy).into_iter().find(|command| matches!(command, Command::Ring(..))).unwrap();
        assert_eq!(agent.run(&ring), Ok(Outcome::Rung));
        let live = agent.head.as_ref().unwrap().live.as_ref().unwrap();
        assert_eq!((live.dispatched_at, live.rung_at), (dispatched_at, Some(agent.moment.now)));
    }
    agent.later(9);
    let commands = due_by(&agent, &policy);
    assert!(matches!(&commands[0], Command::Reap(Reap { cause: Cause::NotStarted, .. })), "{commands:?}");
    agent.run(&commands[0]).unwrap();
    let ended = agent.row(turn).unwrap().ended.clone().unwrap();
    assert_eq!((ended.status, ended.error.as_deref()), (TaskStatus::Timeout, Some("dispatch_timeout")));
    assert_eq!((agent.inbox.len(), agent.epoch().get(), agent.task_events(turn)), (1, 2, 1));
    assert!(agent.steps[0].id.as_str().starts_with("step_reap_"), "WD-12");
}

/// WD-05: a heartbeat keeps a running turn; silence ends it. A suspended one is left to its deadline.
#[test]
fn a_silent_turn_is_taken_away() {
    let (mut agent, fence) = TestAgent::running();
    agent.later(300);
    assert!(due(&agent).is_empty());
    agent.run(&Command::Heartbeat(fence.clone())).unwrap();
    agent.later(300);
    assert!(due(&agent).is_empty());
    agent.later(1);
    let commands = due(&agent);
    assert!(matches!(&commands[0], Command::Reap(Reap { cause: Cause::Silent, .. })));
    agent.run(&commands[0]).unwrap();
    assert_eq!(agent.row(fence.turn_id).unwrap().ended.as_ref().unwrap().status, TaskStatus::Failed);
}

/// WD-12: the last digits of two turns may be the same.
#[test]
fn the_step_of_a_reap_does_not_collide_with_another_turns() {
    let mut agent = TestAgent::new();
    for n in [1_u128, 2] {
        let mut command = agent.dispatch_command();
        command.turn_id = Some(TurnId::from_uuid(uuid::Uuid::from_u128(n << 64 | 0xabcd_ef01)));
        agent.try_dispatch(&command).unwrap();
        let fence = agent.fence();
        let remains = Remains::default();
        let reap = Reap { turn_id: fence.turn_id, epoch: fence.epoch, cause: Cause::Silent, remains };
        agent.run(&Command::Reap(reap)).unwrap();
    }
    let ids: Vec<_> = agent.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids[0], "step_reap_abcdef01");
    assert_ne!(ids[0], ids[1]);
}

/// WD-11: each waiting tool gets one timeout answer, and the turn resumes; it is not ended.
#[test]
fn tools_that_do_not_answer_in_time_are_answered_for() {
    let (mut agent, fence) = TestAgent::running();
    for call in ["c1", "c2", "c3"] {
        agent.run(&agent.tool_call(&fence, call)).unwrap();
    }
    agent.run(&TestAgent::suspend(&fence, &["c1", "c2"])).unwrap();
    agent.later(59);
    assert!(due(&agent).is_empty());
    agent.later(1);
    let commands = due(&agent);
    assert_eq!(commands.len(), 1, "{commands:?}");
    agent.run(&commands[0]).unwrap();
    let timeouts = agent.inbox.iter().filter(|item| item.kind == InboxKind::Timeout).count();
    assert_eq!((timeouts, agent.task_events(fence.turn_id)), (2, 0));
    let live = agent.head.as_ref().unwrap().live.as_ref().unwrap();
    assert!(matches!(live.state, LiveState::Suspended { waiting: 0, .. }));
    assert_eq!((live.open_calls, agent.claim(true).leases.len()), (1, 1));
}

/// WD-09: a report that was claimed and never used goes back, also where claims are not taken back; a running turn's own
/// row does not.
#[test]
fn a_claimed_row_that_nobody_uses_is_put_back() {
    let (mut agent, fence) = TestAgent::running();
    agent.run(&agent.tool_call(&fence, "c1")).unwrap();
    agent.run(&TestAgent::suspend(&fence, &["c1"])).unwrap();
    agent.run(&TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
    assert_eq!(agent.claim(false).leases.len(), 1);
    agent.later(301);
    let policy = Policy { claim_start_timeout: 0, ..Policy::default() };
    let commands = due_by(&agent, &policy);
    assert!(matches!(commands[..], [Command::Requeue(..)]), "{commands:?}");
    agent.run(&commands[0]).unwrap();
    assert_eq!(agent.claim(true).leases.len(), 1);
}

/// DP-14, WD-10: rows that were damaged are put away, the good one behind them runs, and each has its event.
#[test]
fn poisoned_rows_do_not_stop_the_ones_behind_them() {
    let (mut agent, fence) = TestAgent::running();
    let waiting: Vec<_> = (0..3).map(|_| agent.dispatch().turn_id).collect();
    for (turn, damage) in waiting.iter().zip(["{", "{}"]) {
        let row = agent.inbox.iter_mut().find(|item| item.turn_id == *turn).unwrap();
        row.payload = damage.to_owned();
    }
    agent.run(&TestAgent::finish(&fence)).unwrap();
    assert_eq!(agent.fence().turn_id, waiting[2]);
    let reasons: Vec<_> =
        waiting.iter().filter_map(|turn| agent.row(*turn).unwrap().reason.clone()).collect();
    assert_eq!(reasons[0], "invalid_payload_json");
    let missing = Reason::of(agent.row(waiting[1]).unwrap());
    assert!(matches!(missing, Reason::Dispatch("missing_required_fields", Some(_))), "{missing:?}");
    assert_eq!(missing.missing().unwrap(), ["profile_box_id", "context_box_id", "output_box_id"]);
    assert_eq!(Reason::of(agent.row(waiting[0]).unwrap()), Reason::Dispatch("invalid_payload_json", None));
    for turn in &waiting[..2] {
        assert_eq!((agent.row(*turn).unwrap().status, agent.task_events(*turn)), (InboxStatus::Error, 1));
    }
    assert_eq!(agent.head.as_ref().unwrap().queued, 0);

    let row = agent.inbox.iter_mut().find(|item| item.turn_id == waiting[2]).unwrap();
    row.channel = None;
    let commands = due(&agent);
    assert!(matches!(commands[..], [Command::Archive(_)]), "{commands:?}");
    agent.run(&commands[0]).unwrap();
    let row = agent.row(waiting[2]).unwrap();
    assert_eq!((row.status, row.reason.as_deref()), (InboxStatus::Error, Some("missing_channel")));
    assert_eq!(Reason::of(row), Reason::Watchdog("missing_channel"));
    assert_eq!(agent.task_events(waiting[2]), 1);
}

/// SEC-07: 100 cards in one request, 256 open calls in one turn.
#[test]
fn a_turn_writes_so_many_cards_at_once_and_has_so_many_calls_open() {
    let (mut agent, fence) = TestAgent::running();
    let cards = |count: usize| {
        let cards = (0..count).map(|_| agent.card("agent.thought", r#""t""#, None)).collect();
        Command::Append(super::append::Append { fence: fence.clone(), cards, calls: vec![], step: None })
    };
    assert!(agent.decide(&cards(limits::TURN_CARDS)).is_ok());
    assert!(matches!(agent.decide(&cards(limits::TURN_CARDS + 1)), Err(Rejection::Invalid(_))));
    for n in 0..limits::OPEN_CALLS {
        agent.run(&agent.tool_call(&fence, &format!("c{n}"))).unwrap();
    }
    assert!(matches!(agent.run(&agent.tool_call(&fence, "one more")), Err(Rejection::Invalid(_))));
}

/// DP-08: the payload holds pointers, and no control fields.
#[test]
fn the_payload_of_a_turn_is_pointers_only() {
    let mut agent = TestAgent::new();
    let mut command = agent.dispatch_command();
    command.runtime_config = json(r#"{"temperature":1}"#);
    agent.try_dispatch(&command).unwrap();
    let payload: serde_json::Value = serde_json::from_str(&agent.inbox[0].payload).unwrap();
    let mut keys: Vec<_> = payload.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["context_box_id", "output_box_id", "profile_box_id", "runtime_config"]);
}
