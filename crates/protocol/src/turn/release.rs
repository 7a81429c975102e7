//! Release: the holder of a turn gives it back unfinished, e.g. because it is shutting down. Another worker gets it
//! under a new epoch, so that nothing the first one still has under way can count. It may be put off for a while
//! (DP-15). A turn that was to go on after its tools had answered stays suspended, and is given to somebody else to go on
//! with.

use super::{
    Outcome,
    append::check_call_id,
    fence::{self, Fence},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    Head, InboxItem, InboxStatus, Invalid, LiveState, ProjectId, Snapshot, Status, Timestamp, TurnRows,
    Write, limits,
};

/// A turn to give back.
#[derive(Debug, Clone)]
pub struct Release {
    /// Who writes.
    pub fence: Fence,
    /// Not before so many seconds have passed.
    pub defer_seconds: Option<u32>,
    /// Why.
    pub reason: Option<String>,
    /// Leave tool calls open for the next holder, who knows what to do with them.
    pub keep_calls: bool,
}

/// Gives the turn back.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Release,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    if let Some(reason) = &command.reason {
        check_call_id("reason", reason)?;
    }
    if command.defer_seconds.is_some_and(|seconds| seconds > limits::RESUME_SECONDS_MAX) {
        let range = format!("must be at most {}", limits::RESUME_SECONDS_MAX);
        return Err(Invalid::field("defer_seconds", range).into());
    }
    let allowed = [Status::Dispatched, Status::Running, Status::Suspended];
    let held = fence::hold(snapshot, project, &command.fence, &allowed)?;
    let mut work = Work::new(held, moment);
    if !command.keep_calls && !work.open.is_empty() {
        return Err(Rejection::Conflict("the turn has tool calls without an answer".to_owned()));
    }
    let not_before = command.defer_seconds.filter(|seconds| *seconds > 0);
    let not_before = not_before.map(|seconds| moment.now.plus_seconds(seconds.into()));
    let to = offer_again(&mut work, not_before, command.reason.as_deref())?;
    let epoch = to.epoch;
    Ok(work.go(to, Outcome::Released(epoch)))
}

/// Puts the turn where it can be claimed again, under the next epoch: what its last holder still has under way does not
/// count.
pub(super) fn offer_again(
    work: &mut Work<'_>,
    not_before: Option<Timestamp>,
    reason: Option<&str>,
) -> Result<Head, Rejection> {
    let (held, now) = (work.held, work.moment.now);
    let (item, epoch) = (&held.rows.item, held.head.epoch.next());
    let given_back = |row: &InboxItem| Write::UpdateInbox {
        from: row.status,
        item: Box::new(InboxItem {
            status: if not_before.is_some() { InboxStatus::Deferred } else { InboxStatus::Pending },
            epoch: Some(epoch),
            worker_id: None,
            processed_at: None,
            retry_count: row.retry_count + 1,
            next_retry_at: not_before,
            reason: reason.map(str::to_owned),
            ..row.clone()
        }),
    };
    let state = match held.live.state {
        LiveState::Dispatched | LiveState::Running => {
            work.commit.writes.push(given_back(item));
            LiveState::Dispatched
        }
        // It was to go on, and nobody has started it (F-32): the answer that lets it go on waits again.
        LiveState::Suspended { .. } if is_leased(held.rows) => {
            work.commit.writes.extend(held.rows.reports.iter().map(given_back));
            let own = InboxItem { epoch: Some(epoch), worker_id: None, ..item.clone() };
            work.commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(own) });
            held.live.state
        }
        LiveState::Suspended { .. } => {
            return Err(Rejection::Conflict("the turn is suspended, and nobody was given it".to_owned()));
        }
    };
    let mut to = held.moved(state, now);
    to.epoch = epoch;
    if let Some(live) = &mut to.live {
        // A new lease: its time runs from when it can be claimed.
        live.dispatched_at = not_before.unwrap_or(now);
        live.rung_at = Some(now);
    }
    Ok(to)
}

/// Whether a suspended turn is in the hands of a worker that was given it to go on with.
fn is_leased(rows: &TurnRows) -> bool {
    rows.reports.iter().any(|report| report.status == InboxStatus::Processing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::agent::TestAgent,
        turn::{Command, Proof, claim::LeaseKind, report::AfterExecution},
    };
    use cardwire_model::{Hash256, InboxKind, card::ToolStatus};

    /// A turn that is suspended, and whose last tool has answered.
    fn answered() -> TestAgent {
        let (mut agent, fence) = TestAgent::running();
        agent.run(&agent.tool_call(&fence, "c")).unwrap();
        agent.run(&TestAgent::suspend(&fence, &["c"])).unwrap();
        agent.run(&TestAgent::report(&fence, "c", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
        agent
    }

    fn release(fence: &Fence, defer_seconds: Option<u32>) -> Command {
        let (fence, reason) = (fence.clone(), Some("worker_restarted".to_owned()));
        Command::Release(Release { fence, defer_seconds, reason, keep_calls: true })
    }

    /// F-32, DP-15: whoever was given a turn to go on with may be gone before it starts it. The turn is given to somebody else,
    /// and what the first one still has under way does not count.
    #[test]
    fn a_turn_that_was_to_go_on_is_given_back_and_given_again() {
        let mut agent = answered();
        assert_eq!(agent.claim(false).leases[0].kind, LeaseKind::Resume);
        let first = Fence { proof: Proof::Lease(Hash256::of(&[7; 32])), ..agent.fence() };
        let epoch = first.epoch.next();
        assert_eq!(agent.run(&release(&first, None)), Ok(Outcome::Released(epoch)));
        let row = agent.row(first.turn_id).unwrap();
        assert_eq!((row.status, row.epoch, &row.worker_id), (InboxStatus::Processing, Some(epoch), &None));
        assert_eq!(agent.run(&Command::Start(first.clone())), Err(Rejection::StaleTurn(first.turn_id, 1)));
        let [again] = &agent.claim(true).leases[..] else { panic!("nothing was given") };
        assert_eq!((again.kind, again.turn_id, again.epoch), (LeaseKind::Resume, first.turn_id, epoch));
        assert_eq!(agent.head.as_ref().unwrap().status(), Status::Running);
        assert!(agent.inbox.iter().all(|row| row.kind == InboxKind::Turn || !row.status.is_open()));
        let second = agent.fence();
        agent.run(&TestAgent::finish(&second)).unwrap();
        assert_eq!(agent.task_events(first.turn_id), 1);
    }

    /// F-32: it may be put off like any other.
    #[test]
    fn a_turn_that_was_to_go_on_may_be_put_off() {
        let mut agent = answered();
        agent.claim(false);
        let fence = agent.fence();
        agent.run(&release(&fence, Some(60))).unwrap();
        let report = agent.inbox.iter().find(|row| row.kind == InboxKind::ToolResult && row.status.is_open());
        let report = report.unwrap();
        assert_eq!(report.status, InboxStatus::Deferred);
        assert_eq!(report.next_retry_at, Some(agent.moment.now.plus_seconds(60)));
    }

    /// A turn that waits for its tools, or for somebody to claim it, is nobody's to give back.
    #[test]
    fn a_suspended_turn_that_nobody_was_given_stays_where_it_is() {
        let (mut waiting, fence) = TestAgent::running();
        waiting.run(&waiting.tool_call(&fence, "c")).unwrap();
        waiting.run(&TestAgent::suspend(&fence, &["c"])).unwrap();
        for mut agent in [waiting, answered()] {
            let refused = agent.run(&release(&fence, None));
            assert!(matches!(refused, Err(Rejection::Conflict(_))), "{refused:?}");
        }
    }
}
