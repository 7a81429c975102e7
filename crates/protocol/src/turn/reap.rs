//! Reap: the watchdog takes a turn away that nobody started, or whose holder has fallen silent (WD-01, WD-04, WD-05,
//! WD-12).

use super::{
    Outcome,
    ending::{self, End, Remains},
    fence,
    work::Work,
};
use crate::{Decision, Moment, Rejection, decision::own_json};
use cardwire_model::{ProjectId, Snapshot, Step, StepId, TaskStatus, TurnEpoch, TurnId, Write};
use serde_json::json;

/// A turn to take away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reap {
    /// Which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// Why.
    pub cause: Cause,
    /// What a deliverable can be made of.
    pub remains: Remains,
}

/// Why a turn is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Nobody started it in time.
    NotStarted,
    /// Its holder has fallen silent.
    Silent,
}

impl Cause {
    /// The error of the turn.
    pub const fn error(self) -> &'static str {
        match self {
            Self::NotStarted => "dispatch_timeout",
            Self::Silent => "timeout_reaped_by_watchdog",
        }
    }

    /// How the turn ends.
    pub const fn status(self) -> TaskStatus {
        match self {
            Self::NotStarted => TaskStatus::Timeout,
            Self::Silent => TaskStatus::Failed,
        }
    }
}

/// Takes the turn away.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Reap,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let held = fence::live(snapshot, project, command.turn_id, command.epoch)?;
    let mut work = Work::new(held, moment);
    let step = reap_step(&work, snapshot, command);
    work.commit.writes.push(Write::CreateStep(Box::new(step)));
    let end = End::TakenAway {
        status: command.cause.status(),
        reason: command.cause.error(),
        remains: &command.remains,
    };
    ending::end(work, snapshot, end)
}

impl Reap {
    /// WD-12: the step that records it. So short a name can belong to another turn already.
    pub fn step_id(&self) -> Option<StepId> {
        let turn = self.turn_id.uuid().simple().to_string();
        format!("step_reap_{}", &turn[turn.len() - 8..]).parse().ok()
    }
}

fn reap_step(work: &Work<'_>, snapshot: &Snapshot, command: &Reap) -> Step {
    let (head, live) = (work.held.head, work.held.live);
    let short = command.step_id().filter(|_| snapshot.step.is_none());
    let long =
        || format!("step_reap_{}", live.turn_id.uuid().simple()).parse().unwrap_or_else(|_| work.step_id());
    Step {
        id: short.unwrap_or_else(long),
        agent_id: head.agent_id.clone(),
        turn_id: live.turn_id,
        epoch: head.epoch,
        phase: "reap".to_owned(),
        status: Some("failed".to_owned()),
        call_id: None,
        request_box: None,
        output_len: work.output_len(),
        trace_id: live.trace_id.clone(),
        metadata: own_json(&json!({ "reason": command.cause.error() })),
        created_at: work.moment.now,
        updated_at: work.moment.now,
    }
}
