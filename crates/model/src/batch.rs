//! Batches: one fork_join and its branches (`pmo_batches`, `pmo_batch_tasks`; BM-06), and what else orchestration keeps:
//! grants, budgets of trees, and sweeps that are still to be done.

use crate::{
    AgentId, BatchId, BoxId, CardId, Channel, StepId, TaskStatus, Timestamp, TurnEpoch, TurnId, inbox::names,
};

names! {
    /// How far a batch is.
    BatchStatus {
        /// Some branches have not ended.
        Running = "running",
        /// All did what was asked.
        Success = "success",
        /// Some did.
        Partial = "partial",
        /// None did, or one failed and that was enough.
        Failed = "failed",
        /// Its time was up.
        Timeout = "timeout",
    }
}

names! {
    /// How far a branch is.
    BranchStatus {
        /// Its turn is still to be dispatched.
        Pending = "pending",
        /// Its turn is in the inbox of its agent, or live.
        Dispatched = "dispatched",
        /// It did what was asked.
        Success = "success",
        /// It did not.
        Failed = "failed",
        /// It was called off.
        Canceled = "canceled",
        /// Nobody started it in time.
        Timeout = "timeout",
        /// It did some of what was asked.
        Partial = "partial",
    }
}

names! {
    /// Why a batch is closed before all its branches have ended.
    CloseReason {
        /// A branch failed, and one failure is enough (BM-13).
        FailFast = "fail_fast",
        /// Its time is up (BM-18).
        Deadline = "deadline",
        /// Somebody called it off.
        Canceled = "canceled",
        /// Enough branches have succeeded.
        Enough = "enough",
    }
}

impl BranchStatus {
    /// Whether the branch can still change.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::Dispatched => true,
            Self::Success | Self::Failed | Self::Canceled | Self::Timeout | Self::Partial => false,
        }
    }

    /// Whether it counts as a failure: doing some of what was asked does not (BM-13).
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Canceled | Self::Timeout => true,
            Self::Pending | Self::Dispatched | Self::Success | Self::Partial => false,
        }
    }
}

impl From<TaskStatus> for BranchStatus {
    fn from(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Success => Self::Success,
            TaskStatus::Failed => Self::Failed,
            TaskStatus::Canceled => Self::Canceled,
            TaskStatus::Timeout => Self::Timeout,
            TaskStatus::Partial => Self::Partial,
        }
    }
}

/// One fork_join. Everything but the last four fields stays as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its id.
    pub id: BatchId,
    /// Who forked.
    pub parent_agent: AgentId,
    /// In which turn; none when an operator did it in the name of an idle agent.
    pub parent_turn: Option<TurnId>,
    /// At which epoch of that turn.
    pub parent_epoch: Option<TurnEpoch>,
    /// By which tool call: the one that the result answers.
    pub parent_call: String,
    /// In which step of that turn, if it had one.
    pub parent_step: Option<StepId>,
    /// On which channel.
    pub channel: Channel,
    /// In which trace.
    pub trace_id: String,
    /// How deep the branches are.
    pub depth: u32,
    /// How many branches.
    pub branches: u32,
    /// One failure ends it.
    pub fail_fast: bool,
    /// So many successes are enough; 0 means that all branches are waited for.
    pub enough: u32,
    /// At most so many branches are under way at once; 0 means all.
    pub parallel: u32,
    /// Most tokens of the text that one branch brings into the result (OB-03).
    pub result_tokens: u32,
    /// When it is given up.
    pub deadline_at: Option<Timestamp>,
    /// When it was forked.
    pub created_at: Timestamp,
    /// How far it is.
    pub status: BatchStatus,
    /// It is being closed for this reason: its branches do not change any more on their own.
    pub closing: Option<CloseReason>,
    /// The `tool.result` card, once it is closed and somebody is there to read it.
    pub result_card: Option<CardId>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}

/// Which branch of which batch a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchKey {
    /// Which batch.
    pub batch_id: BatchId,
    /// Which of its branches: 0, 1, 2, … in the order given.
    pub index: u32,
}

/// One branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Which it is.
    pub key: BranchKey,
    /// How far it is.
    pub status: BranchStatus,
    /// Who does it. None when it failed before that was settled.
    pub agent_id: Option<AgentId>,
    /// In which turn.
    pub turn_id: Option<TurnId>,
    /// At which epoch, once that is known.
    pub epoch: Option<TurnEpoch>,
    /// What it is given.
    pub context_box: Option<BoxId>,
    /// Where it writes.
    pub output_box: Option<BoxId>,
    /// How often a dispatch was tried (BM-10).
    pub attempts: u32,
    /// Not before this.
    pub next_attempt_at: Option<Timestamp>,
    /// What came out.
    pub deliverable: Option<CardId>,
    /// What went wrong, for people.
    pub error_detail: Option<String>,
    /// What went wrong, for programs.
    pub error_code: Option<String>,
    /// What was noticed about it (BM-19).
    pub warning: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// How a branch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchEnd {
    /// Which.
    pub key: BranchKey,
    /// How.
    pub status: TaskStatus,
    /// What came out.
    pub deliverable: Option<CardId>,
    /// What went wrong, for people.
    pub error_detail: Option<String>,
    /// What went wrong, for programs.
    pub error_code: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Something whose descendants are to be stopped. Kept until that is done, so that a crash in between loses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sweep {
    /// Turns and batches that this turn has started.
    Turn(TurnId),
    /// Turns of the branches of this batch.
    Batch(BatchId),
}

impl Sweep {
    /// What is swept, by name.
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Turn(_) => "turn",
            Self::Batch(_) => "batch",
        }
    }

    /// Its id.
    pub const fn uuid(self) -> uuid::Uuid {
        match self {
            Self::Turn(id) => id.uuid(),
            Self::Batch(id) => id.uuid(),
        }
    }

    /// The reverse of [`Self::scope`] and [`Self::uuid`].
    pub fn from_parts(scope: &str, id: uuid::Uuid) -> Option<Self> {
        match scope {
            "turn" => Some(Self::Turn(TurnId::from_uuid(id))),
            "batch" => Some(Self::Batch(BatchId::from_uuid(id))),
            _ => None,
        }
    }
}

/// A box that was handed to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// To whom.
    pub agent_id: AgentId,
    /// Which box.
    pub box_id: BoxId,
    /// Since when.
    pub at: Timestamp,
}
