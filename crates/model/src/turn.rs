//! Turns: the state of an agent, and the proof that a writer may still act (DP-13, DP-17, WD-01).
//!
//! Invariant: an agent has at most one live turn, and its epoch rises whenever a turn is leased or taken away.

use crate::{AgentId, BoxId, CardId, Channel, InboxId, Revision, StepId, Timestamp, TurnId, WorkerTarget};

/// Fencing number: may this actor still act? Never compared with a [`crate::Revision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnEpoch(u64);

impl TurnEpoch {
    /// Before the first turn.
    pub const ZERO: Self = Self(0);

    /// From the stored number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The stored number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The epoch after this one.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What an agent is doing (`agent_state_head`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Whose.
    pub agent_id: AgentId,
    /// The epoch of the live turn, or of the last one.
    pub epoch: TurnEpoch,
    /// The live turn, if there is one.
    pub live: Option<Box<Live>>,
    /// Where the last turn wrote.
    pub last_output_box: Option<BoxId>,
    /// Turns that wait behind the live one.
    pub queued: u32,
    /// When a turn last changed its state or showed that it is alive.
    pub updated_at: Timestamp,
}

/// The live turn of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// Which turn.
    pub turn_id: TurnId,
    /// Its row in the inbox.
    pub inbox_id: InboxId,
    /// How far it is.
    pub state: LiveState,
    /// The channel it was sent on.
    pub channel: Channel,
    /// Which workers serve it.
    pub worker_target: WorkerTarget,
    /// What the agent is.
    pub profile_box: BoxId,
    /// What it was given.
    pub context_box: BoxId,
    /// Where it writes.
    pub output_box: BoxId,
    /// Cards in the output box when the turn was leased (WK-03).
    pub watermark: u32,
    /// How deep in the tree of delegations.
    pub depth: u32,
    /// The trace it belongs to.
    pub trace_id: String,
    /// The step that sent it.
    pub parent_step: Option<StepId>,
    /// When it was leased. Ringing again does not move it (W-04).
    pub dispatched_at: Timestamp,
    /// When the doorbell last rang for it.
    pub rung_at: Option<Timestamp>,
    /// The latest deliverable it has written.
    pub deliverable: Option<CardId>,
    /// Tool calls without an answer.
    pub open_calls: u32,
    /// Rises with every [`Nudge`] that changes one of the two above, so that a move never undoes it, and whenever a running
    /// turn moves within its epoch, so that whoever saw it before it waited is noticed.
    pub marks: u32,
}

/// How far a live turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiveState {
    /// Leased; no worker has started it.
    Dispatched,
    /// A worker is at it.
    Running,
    /// It waits for tools.
    Suspended {
        /// How many it still waits for; 0 means that it can be resumed.
        waiting: u32,
        /// When waiting ends.
        resume_by: Timestamp,
    },
}

/// The state of an agent by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// No live turn.
    Idle,
    /// See [`LiveState::Dispatched`].
    Dispatched,
    /// See [`LiveState::Running`].
    Running,
    /// See [`LiveState::Suspended`].
    Suspended,
}

impl Status {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Idle, Self::Dispatched, Self::Running, Self::Suspended];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Dispatched => "dispatched",
            Self::Running => "running",
            Self::Suspended => "suspended",
        }
    }

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

impl LiveState {
    /// Its name.
    pub const fn status(self) -> Status {
        match self {
            Self::Dispatched => Status::Dispatched,
            Self::Running => Status::Running,
            Self::Suspended { .. } => Status::Suspended,
        }
    }
}

impl Head {
    /// What the agent is doing, by name.
    pub fn status(&self) -> Status {
        self.live.as_ref().map_or(Status::Idle, |live| live.state.status())
    }

    /// The guard of a nudge: this turn in this state, whatever else changes meanwhile.
    pub fn guard(&self) -> HeadGuard {
        HeadGuard {
            agent_id: self.agent_id.clone(),
            epoch: self.epoch,
            status: self.status(),
            marks: None,
            queued: (0, u32::MAX),
            roster: None,
        }
    }

    /// The guard of a move, and of what was decided on rows of before: nothing that a move writes has changed since.
    pub fn guard_move(&self) -> HeadGuard {
        HeadGuard { marks: self.live.as_ref().map(|live| live.marks), ..self.guard() }
    }
}

/// What a head must be for a write to it to be applied. The epoch names the turn: no two turns of an agent share
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadGuard {
    /// Whose head.
    pub agent_id: AgentId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// In which state.
    pub status: Status,
    /// With exactly this many marks.
    pub marks: Option<u32>,
    /// At least and at most so many turns wait behind the live one.
    pub queued: (u32, u32),
    /// With the agent's row in the roster at this revision; only moves look at it. No commit changes that row as well.
    pub roster: Option<Revision>,
}

/// A small change to a head that does not move its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nudge {
    /// The turn is alive: `updated_at` becomes this, unless it is later already.
    pub seen: Option<Timestamp>,
    /// The doorbell rang again.
    pub rung: Option<Timestamp>,
    /// Turns that came to wait, or ceased to.
    pub queued: i32,
    /// A deliverable was written. Counts as a mark.
    pub deliverable: Option<CardId>,
    /// Tool calls that were made, or answered. Counts as a mark when not 0.
    pub open_calls: i32,
}

impl Nudge {
    /// Whether a move decided before must be decided again.
    pub const fn is_mark(&self) -> bool {
        self.deliverable.is_some() || self.open_calls != 0
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// It did what was asked.
    Success,
    /// It did not.
    Failed,
    /// It was called off.
    Canceled,
    /// Nobody started it in time.
    Timeout,
    /// It did some of what was asked.
    Partial,
}

impl TaskStatus {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Success, Self::Failed, Self::Canceled, Self::Timeout, Self::Partial];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Timeout => "timeout",
            Self::Partial => "partial",
        }
    }

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}
