//! Turns: the state machine of an agent (SPEC.md, Enqueue / dispatcher and Worker boundary).
//!
//! ```text
//! idle ──dispatch──► dispatched ──start──► running ──suspend──► suspended
//!   ▲                    │                  │   ▲                   │
//!   └──── finish, stop, reap (any) ─────────┘   └───── resume ──────┘
//! ```
//!
//! One file per verb. Each verb that a turn's holder uses checks the fence first ([`fence`]); the ends of a turn all
//! go through [`ending`], so that each accepted enqueue ends in exactly one task event (NF-04).

pub mod append;
pub mod archive;
pub mod claim;
mod copy;
pub mod dispatch;
pub mod dispatch_next;
mod ending;
pub mod expire_tools;
pub mod fence;
pub mod finish;
pub mod forked;
pub mod heartbeat;
mod lease;
mod named;
pub mod question;
pub mod reap;
pub mod reason;
pub mod rebuild;
pub mod recall;
pub mod release;
pub mod report;
pub mod requeue;
pub mod ring;
pub mod start;
pub mod step;
pub mod stop;
pub mod suspend;
pub(crate) mod system_tool;
pub mod take_back;
pub mod view;
pub mod without;
mod work;

#[cfg(test)]
mod rules;
#[cfg(test)]
mod table;

pub use ending::{Remains, delivered};
pub use fence::{Fence, Proof};
pub use lease::next_output_box;

use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    CanonicalJson, Card, CardId, InboxId, ProjectId, Snapshot, StepId, TaskStatus, TurnEpoch, TurnId,
};

/// Everything that can happen to a turn that is already there.
#[derive(Debug, Clone)]
pub enum Command {
    /// See [`start`].
    Start(Fence),
    /// See [`heartbeat`].
    Heartbeat(Fence),
    /// See [`append`].
    Append(append::Append),
    /// See [`step`].
    Step(step::TakeStep),
    /// See [`suspend`].
    Suspend(suspend::Suspend),
    /// See [`report`].
    Report(Box<report::Report>),
    /// See [`finish`].
    Finish(Box<finish::Finish>),
    /// See [`release`].
    Release(release::Release),
    /// See [`stop`].
    Stop(stop::Stop),
    /// See [`reap`].
    Reap(reap::Reap),
    /// See [`take_back`].
    TakeBack(take_back::TakeBack),
    /// See [`expire_tools`].
    ExpireTools(TurnId, TurnEpoch),
    /// See [`requeue`].
    Requeue(TurnId, InboxId),
    /// See [`ring`].
    Ring(TurnId, InboxId),
    /// See [`archive`].
    Archive(archive::Archive),
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The turn runs.
    Running,
    /// It was noted that the turn is alive.
    Alive,
    /// Cards were written; these are in the output box now, in the order given.
    Appended {
        /// Their ids.
        card_ids: Vec<CardId>,
        /// How many of them are new.
        added: u32,
    },
    /// A step was written.
    Stepped(StepId),
    /// The turn waits for so many tools.
    Suspended(u32),
    /// A report was taken.
    Reported(report::Reported),
    /// The turn has ended.
    Ended {
        /// How.
        status: TaskStatus,
        /// With which card.
        deliverable: CardId,
    },
    /// The turn was given back.
    Released(TurnEpoch),
    /// The turn was taken back.
    TakenBack(TurnEpoch),
    /// A row was put back for a worker to claim.
    Requeued,
    /// The doorbell is to ring.
    Rung,
    /// A row was put away.
    Archived,
    /// There is nothing to do any more.
    Nothing,
}

/// The one entry: what a command means for the rows that were loaded.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Command,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    match command {
        Command::Start(fence) => start::decide(snapshot, project, fence, moment),
        Command::Heartbeat(fence) => heartbeat::decide(snapshot, project, fence, moment),
        Command::Append(append) => append::decide(snapshot, project, append, moment),
        Command::Step(step) => step::decide(snapshot, project, step, moment),
        Command::Suspend(suspend) => suspend::decide(snapshot, project, suspend, moment),
        Command::Report(report) => report::decide(snapshot, project, report, moment),
        Command::Finish(finish) => finish::decide(snapshot, project, finish, moment),
        Command::Release(release) => release::decide(snapshot, project, release, moment),
        Command::Stop(stop) => stop::decide(snapshot, project, stop, moment),
        Command::Reap(reap) => reap::decide(snapshot, project, reap, moment),
        Command::TakeBack(back) => take_back::decide(snapshot, project, back, moment),
        Command::ExpireTools(turn, epoch) => expire_tools::decide(snapshot, project, *turn, *epoch, moment),
        Command::Requeue(turn, inbox) => requeue::decide(snapshot, project, *turn, *inbox, moment),
        Command::Ring(turn, inbox) => ring::decide(snapshot, project, *turn, *inbox, moment),
        Command::Archive(archive) => archive::decide(snapshot, project, archive, moment),
    }
}

impl Command {
    /// The turn it is about.
    pub fn turn_id(&self) -> TurnId {
        match self {
            Self::Start(fence) | Self::Heartbeat(fence) => fence.turn_id,
            Self::Append(append) => append.fence.turn_id,
            Self::Step(step) => step.fence.turn_id,
            Self::Suspend(suspend) => suspend.fence.turn_id,
            Self::Report(report) => report.fence.turn_id,
            Self::Finish(finish) => finish.fence.turn_id,
            Self::Release(release) => release.fence.turn_id,
            Self::Stop(stop) => stop.turn_id,
            Self::Reap(reap) => reap.turn_id,
            Self::TakeBack(back) => back.overdue.turn_id,
            Self::ExpireTools(turn, _) | Self::Requeue(turn, _) | Self::Ring(turn, _) => *turn,
            Self::Archive(archive) => archive.turn_id,
        }
    }

    /// The cards it brings that a caller may have written before: those with an id of the caller's choice.
    pub fn named_cards(&self) -> Vec<CardId> {
        let named = |cards: &[append::NewCard]| {
            cards.iter().filter(|new| new.named).map(|new| new.card.id).collect::<Vec<_>>()
        };
        match self {
            Self::Append(append) => named(&append.cards),
            Self::Finish(finish) => {
                let mut ids = named(&finish.cards);
                ids.extend(finish.deliverable.card_id());
                ids
            }
            Self::Report(report) => report.answer.card_id().into_iter().collect(),
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Step(_)
            | Self::Suspend(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::Reap(_)
            | Self::TakeBack(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => vec![],
        }
    }

    /// The step it names, if it may exist already.
    pub fn named_step(&self) -> Option<StepId> {
        match self {
            Self::Step(step) => step.step.id.clone(),
            Self::Append(append) => append.step.as_ref().and_then(|step| step.id.clone()),
            Self::Finish(finish) => finish.step.as_ref().and_then(|step| step.id.clone()),
            Self::Reap(reap) => reap.step_id(),
            Self::TakeBack(back) => back.step_id(),
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Suspend(_)
            | Self::Report(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => None,
        }
    }

    /// Whether it needs to know every tool call of the turn, answered ones too.
    pub fn wants_calls(&self) -> bool {
        let tools = |cards: &[append::NewCard]| cards.iter().any(|new| touches_tools(&new.card));
        match self {
            Self::Append(append) => tools(&append.cards),
            Self::Finish(finish) => tools(&finish.cards),
            Self::Suspend(_) | Self::Report(_) => true,
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Step(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::Reap(_)
            | Self::TakeBack(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => false,
        }
    }

    /// Whether it leaves the turn where it is and its tool calls alone, so that it needs to know neither them nor what waits.
    pub fn leaves_turn_alone(&self) -> bool {
        match self {
            Self::Heartbeat(_) | Self::Step(_) => true,
            Self::Append(_) => !self.wants_calls(),
            Self::Start(_)
            | Self::Suspend(_)
            | Self::Report(_)
            | Self::Finish(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::Reap(_)
            | Self::TakeBack(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => false,
        }
    }

    /// What people said in the turn that it ends, for the turn's session (PR-10).
    pub fn replies(&self) -> &[CanonicalJson] {
        match self {
            Self::Finish(finish) => &finish.replies,
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Append(_)
            | Self::Step(_)
            | Self::Suspend(_)
            | Self::Report(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::Reap(_)
            | Self::TakeBack(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => &[],
        }
    }

    /// Whether it ends the turn before its holder said so, so that a deliverable must be made of what there is.
    pub fn wants_remains(&self) -> bool {
        match self {
            Self::Reap(_) | Self::TakeBack(_) | Self::Stop(_) | Self::Archive(_) => true,
            Self::Finish(finish) => finish.deliverable.is_absent(),
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Append(_)
            | Self::Step(_)
            | Self::Suspend(_)
            | Self::Report(_)
            | Self::Release(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..) => false,
        }
    }
}

fn touches_tools(card: &Card) -> bool {
    card.tool_calls.is_some() || matches!(card.kind.as_str(), "tool.call" | "tool.result")
}
