//! The watchdog: what is due at a moment, as commands like any other (WD-04..WD-11). It reads nothing and changes
//! nothing; the kernel runs each command by itself, so that one bad row never stops the rest (WD-13).
//!
//! Invariant 11: whatever a live turn waits for, something here is due at some time.

use crate::turn::{
    Command, Remains, archive,
    archive::Archive,
    reap::{Cause, Reap},
    take_back::{Overdue, Why},
};
use cardwire_model::{AgentId, Head, InboxItem, InboxKind, InboxStatus, Live, LiveState, Timestamp};

/// Times after which something is done, in seconds. A rule whose time is 0 or less is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Between two looks.
    pub tick: i64,
    /// Ring again for a turn that nobody has claimed.
    pub dispatched_retry: i64,
    /// End a turn that nobody has claimed. Off unless somebody sets it: work that nobody serves yet waits (WD-04).
    pub dispatched_timeout: i64,
    /// Take a claim back that no start has followed.
    pub claim_start_timeout: i64,
    /// Take away a turn whose holder is silent.
    pub active_reap: i64,
    /// Give a turn whose holder is silent to a worker that asks for such turns (WD-05).
    pub worker_lost: i64,
    /// Ring again for a row that nobody has claimed.
    pub pending_wakeup: i64,
    /// Put back a row that was claimed and not used.
    pub processing_timeout: i64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            tick: 5,
            dispatched_retry: 10,
            dispatched_timeout: 0,
            claim_start_timeout: 30,
            active_reap: 300,
            worker_lost: 30,
            pending_wakeup: 5,
            processing_timeout: 300,
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Due {
    /// Something with a turn.
    Turn(Command),
    /// Take a turn back from the worker that was given it.
    TakeBack(Overdue),
    /// Lease the next turn of an idle agent.
    DispatchNext(AgentId),
    /// Rebuild a head.
    Rebuild(AgentId),
}

/// How old the rows are that can be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldEnough {
    /// Dispatched at or before.
    pub dispatched: Timestamp,
    /// Seen at or before.
    pub running: Timestamp,
    /// To be resumed by.
    pub resume: Timestamp,
    /// Pending since.
    pub pending: Timestamp,
    /// Processing since.
    pub processing: Timestamp,
    /// Processing since, of rows that are no turns: answers that let a turn go on.
    pub given: Timestamp,
}

/// For the store: the oldest age at which each kind of row can be due.
pub fn old_enough(policy: &Policy, now: Timestamp) -> OldEnough {
    let never = Timestamp::from_micros(i64::MIN);
    let before = |seconds: i64| if seconds > 0 { now.plus_seconds(-seconds) } else { never };
    let first =
        |rules: &[i64]| before(rules.iter().copied().filter(|seconds| *seconds > 0).min().unwrap_or(0));
    OldEnough {
        dispatched: first(&[policy.dispatched_retry, policy.dispatched_timeout, policy.claim_start_timeout]),
        running: first(&[policy.active_reap, policy.worker_lost]),
        resume: now,
        pending: before(policy.pending_wakeup),
        processing: before(policy.processing_timeout),
        given: first(&[policy.processing_timeout, policy.claim_start_timeout]),
    }
}

/// Whether more than so many seconds have passed; never when the rule is off.
fn over(since: Timestamp, now: Timestamp, seconds: i64) -> bool {
    seconds > 0 && now > since.plus_seconds(seconds)
}

/// What is due for a head. `item` is the row of its live turn.
pub fn due_head(head: &Head, item: Option<&InboxItem>, policy: &Policy, now: Timestamp) -> Option<Due> {
    let Some(live) = &head.live else {
        return (head.queued > 0).then(|| Due::DispatchNext(head.agent_id.clone()));
    };
    let reap = |cause| {
        let remains = Remains::default();
        Due::Turn(Command::Reap(Reap { turn_id: live.turn_id, epoch: head.epoch, cause, remains }))
    };
    match live.state {
        LiveState::Dispatched => {
            let waits = item.is_none_or(|item| item.status == InboxStatus::Pending);
            let given = item.filter(|_| policy.claim_start_timeout > 0).and_then(given_at);
            if item.is_some_and(|item| item.status == InboxStatus::Deferred) {
                None
            } else if let Some(since) = given {
                over(since, now, policy.claim_start_timeout)
                    .then(|| Due::TakeBack(Overdue::new(live.turn_id, head.epoch, Why::NotStarted, since)))
            } else if over(live.dispatched_at, now, policy.dispatched_timeout) {
                Some(reap(Cause::NotStarted))
            } else if waits && over(last_ring(live), now, policy.dispatched_retry) {
                Some(Due::Turn(Command::Ring(live.turn_id, live.inbox_id)))
            } else {
                None
            }
        }
        LiveState::Running => over(head.updated_at, now, policy.active_reap).then(|| reap(Cause::Silent)),
        LiveState::Suspended { waiting: 1.., resume_by } if resume_by <= now => {
            Some(Due::Turn(Command::ExpireTools(live.turn_id, head.epoch)))
        }
        LiveState::Suspended { .. } => None,
    }
}

/// A turn whose holder has not been heard of for so long that a worker which asks for such turns is given it (WD-05).
/// `listening` says since when workers could have been heard: silence while nobody listened is none.
pub fn silent(head: &Head, policy: &Policy, listening: Timestamp, now: Timestamp) -> Option<Overdue> {
    let live = head.live.as_deref().filter(|live| live.state == LiveState::Running)?;
    let lost = Overdue::new(live.turn_id, head.epoch, Why::Lost, head.updated_at);
    over(head.updated_at.max(listening), now, policy.worker_lost).then_some(lost)
}

/// Since when a row is in the hands of a worker.
fn given_at(item: &InboxItem) -> Option<Timestamp> {
    (item.status == InboxStatus::Processing).then(|| item.processed_at.unwrap_or(item.created_at))
}

/// When the doorbell last rang for a turn.
fn last_ring(live: &Live) -> Timestamp {
    live.rung_at.unwrap_or(live.dispatched_at)
}

/// What is due for an inbox row.
pub fn due_item(item: &InboxItem, head: Option<&Head>, policy: &Policy, now: Timestamp) -> Option<Due> {
    if !item.status.is_open() {
        return None;
    }
    if archive::fault(item).is_some() && item.status != InboxStatus::Queued {
        let archive = Archive { turn_id: item.turn_id, inbox_id: item.id, remains: Remains::default() };
        return Some(Due::Turn(Command::Archive(archive)));
    }
    if head.is_none() {
        return Some(Due::Rebuild(item.agent_id.clone()));
    }
    match item.status {
        InboxStatus::Pending => {
            let own = head.and_then(|head| head.live.as_deref()).filter(|live| live.inbox_id == item.id);
            let since = own.map_or(item.created_at, last_ring);
            over(since, now, policy.pending_wakeup).then_some(Due::Turn(Command::Ring(item.turn_id, item.id)))
        }
        InboxStatus::Deferred => {
            let due = item.next_retry_at.is_none_or(|at| at <= now);
            due.then_some(Due::Turn(Command::Ring(item.turn_id, item.id)))
        }
        InboxStatus::Processing => {
            let since = item.processed_at.unwrap_or(item.created_at);
            if let Some(given) = not_resumed(item, head, since)
                && over(since, now, policy.claim_start_timeout)
            {
                return Some(Due::TakeBack(given));
            }
            let runs = head.and_then(|head| head.live.as_deref()).is_some_and(|live| {
                live.turn_id == item.turn_id
                    && live.inbox_id == item.id
                    && live.state != LiveState::Dispatched
            });
            (!runs && over(since, now, policy.processing_timeout))
                .then_some(Due::Turn(Command::Requeue(item.turn_id, item.id)))
        }
        InboxStatus::Queued | InboxStatus::Consumed | InboxStatus::Error | InboxStatus::Skipped => None,
    }
}

/// A turn that a worker was given to go on with, by this answer, and that it has not started (WD-04).
fn not_resumed(item: &InboxItem, head: Option<&Head>, since: Timestamp) -> Option<Overdue> {
    let head = head.filter(|head| item.kind != InboxKind::Turn && item.epoch == Some(head.epoch))?;
    let live = head.live.as_deref().filter(|live| live.turn_id == item.turn_id)?;
    let can_go_on = matches!(live.state, LiveState::Suspended { waiting: 0, .. });
    can_go_on.then(|| Overdue::new(live.turn_id, head.epoch, Why::NotStarted, since))
}
