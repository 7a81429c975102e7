//! Take back: a turn goes back to where it waits for a worker, because the worker that was given it has not started it
//! (WD-04), or has not been heard of since (WD-05).
//! Invariant 21: each time that comes to nothing is a lost attempt; after the last one the turn ends like one that nobody
//! served.
//!
//! The epoch rises, as with every other way in which a holder loses its turn: a late start of the old holder is refused
//! by the same fence as all its other words (invariants 2 and 3), with no rule of its own.
//! A step records each lost attempt. Its name is made of the secret of the lost lease, so that the steps of a turn count
//! its attempts, and tell a worker that lost its turn from somebody who guesses.

use super::{
    Outcome,
    ending::Remains,
    fence::{self, Held},
    reap::{self, Reap},
    release,
    work::Work,
};
use crate::{Decision, Moment, Rejection, decision::own_json};
use cardwire_model::{
    CanonicalJson, EventKind, Hash256, Head, InboxStatus, LiveState, ProjectId, Snapshot, Step, StepId,
    Timestamp, TurnEpoch, TurnId, Write, limits,
};
use serde_json::{Value, json};

/// What the step of a lost attempt is called.
pub const PHASE: &str = "taken_back";

/// The member of a profile that bounds attempts.
pub const MAX_ATTEMPTS: &str = "max_attempts";

/// Why a turn is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// It was given to a worker that has not started it, or not gone on with it.
    NotStarted,
    /// Its worker has not been heard of.
    Lost,
}

impl Why {
    /// The name in steps, events and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "claim_not_started",
            Self::Lost => "worker_lost",
        }
    }
}

/// A turn that is to be taken back, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// Which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// Why.
    pub why: Why,
    /// When its worker was given it, or was last heard of. One that was heard of since keeps its turn.
    pub since: Timestamp,
}

impl Overdue {
    /// All of it.
    pub const fn new(turn_id: TurnId, epoch: TurnEpoch, why: Why, since: Timestamp) -> Self {
        Self { turn_id, epoch, why, since }
    }
}

/// A turn to take back.
#[derive(Debug, Clone)]
pub struct TakeBack {
    /// Which turn, and why.
    pub overdue: Overdue,
    /// The secret of the lost lease, as its hash; nothing when the turn was started without a lease.
    pub holder: Option<Hash256>,
    /// Attempts that were lost before.
    pub lost: u32,
    /// How many there may be.
    pub most: u32,
    /// What a deliverable can be made of, if this was the last attempt.
    pub remains: Remains,
}

impl TakeBack {
    /// The attempt that is lost was the last one: the turn ends.
    const fn ends(&self) -> bool {
        self.lost + 1 >= self.most
    }

    /// How the turn ends when that was the last attempt.
    fn reap(&self) -> Reap {
        let Overdue { turn_id, epoch, .. } = self.overdue;
        Reap { turn_id, epoch, cause: reap::Cause::NotStarted, remains: self.remains.clone() }
    }

    /// The step that records it.
    pub fn step_id(&self) -> Option<StepId> {
        if self.ends() { self.reap().step_id() } else { self.holder.and_then(step_of) }
    }
}

/// The step that records the loss of the lease with this secret. Half of the hash is enough: nobody finds another secret
/// of which that much agrees, and nobody is let in by it.
pub fn step_of(secret: Hash256) -> Option<StepId> {
    let hash = secret.to_string();
    format!("step_lost_{}", &hash[..hash.len() / 2]).parse().ok()
}

/// How many attempts a turn of this profile has. What is stored may be anybody's card, so that anything but a number in
/// range counts as none.
pub fn attempts(profile: Option<&CanonicalJson>) -> u32 {
    let named = profile.and_then(|content| content.to_value().get(MAX_ATTEMPTS).and_then(Value::as_u64));
    let named = named.and_then(|most| u32::try_from(most).ok());
    named.filter(|most| (1..=limits::TURN_ATTEMPTS_MAX).contains(most)).unwrap_or(limits::TURN_ATTEMPTS)
}

/// Takes the turn back, or ends it when it was given away for the last time.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &TakeBack,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let Overdue { turn_id, epoch, why, since } = command.overdue;
    let held = fence::live(snapshot, project, turn_id, epoch)?;
    if !is_overdue(&held, why, since) {
        return Ok(Decision::nothing(project.clone(), Outcome::Nothing));
    }
    if command.ends() {
        return reap::decide(snapshot, project, &command.reap(), moment);
    }
    let mut work = Work::new(held, moment);
    let step = lost_step(&work, snapshot, command);
    work.commit.writes.push(Write::CreateStep(Box::new(step)));
    let mut to = release::offer_again(&mut work, None, Some(why.as_str()))?;
    if let (Why::NotStarted, Some(live)) = (why, &mut to.live) {
        // A claim that came to nothing is no dispatch: its time goes on (invariant 8).
        live.dispatched_at = held.live.dispatched_at;
    }
    let event = offered(&work, &to, why);
    work.commit.events.push(event);
    let epoch = to.epoch;
    Ok(work.go(to, Outcome::TakenBack(epoch)))
}

/// Whether the worker is as silent as it was when it was looked at.
fn is_overdue(held: &Held<'_>, why: Why, since: Timestamp) -> bool {
    let is_given = |row: &cardwire_model::InboxItem| {
        row.status == InboxStatus::Processing && row.processed_at.unwrap_or(row.created_at) == since
    };
    match (why, held.live.state) {
        (Why::NotStarted, LiveState::Dispatched) => is_given(&held.rows.item),
        (Why::NotStarted, LiveState::Suspended { waiting: 0, .. }) => held.rows.reports.iter().any(is_given),
        (Why::Lost, LiveState::Running) => held.head.updated_at == since,
        (Why::NotStarted, LiveState::Running | LiveState::Suspended { .. })
        | (Why::Lost, LiveState::Dispatched | LiveState::Suspended { .. }) => false,
    }
}

fn lost_step(work: &Work<'_>, snapshot: &Snapshot, command: &TakeBack) -> Step {
    let (head, live) = (work.held.head, work.held.live);
    // Steps are named by workers as well.
    let named = command.step_id().filter(|_| snapshot.step.is_none());
    let item = &work.held.rows.item;
    let metadata = json!({
        "reason": command.overdue.why.as_str(), "worker_id": item.worker_id,
        "attempt": command.lost + 1, "max_attempts": command.most,
    });
    Step {
        id: named.unwrap_or_else(|| work.step_id()),
        agent_id: head.agent_id.clone(),
        turn_id: live.turn_id,
        epoch: head.epoch,
        phase: PHASE.to_owned(),
        status: Some("failed".to_owned()),
        call_id: None,
        request_box: None,
        output_len: work.output_len(),
        trace_id: live.trace_id.clone(),
        metadata: own_json(&metadata),
        created_at: work.moment.now,
        updated_at: work.moment.now,
    }
}

/// The turn waits for a worker again.
fn offered(work: &Work<'_>, to: &Head, why: Why) -> cardwire_model::NewEvent {
    let live = work.held.live;
    let data = json!({
        "status": to.status().as_str(), "agent_turn_id": live.turn_id.to_string(), "turn_epoch": to.epoch.get(),
        "output_box_id": live.output_box.to_string(), "reason": why.as_str(),
    });
    work.event(EventKind::AgentState, &data)
}

#[cfg(test)]
mod tests;
