//! Reads of turns and the roster, what the watchdog looks at, and the one write that finds its own rows: a claim.

use crate::{CommitError, StoreError};
use async_trait::async_trait;
use cardwire_model::{
    Agent, AgentId, AuditAction, AuditVerdict, Commit, Edge, EdgeId, EdgePhase, Head, IdentityEdge, InboxId,
    InboxItem, InboxStatus, Primitive, Profile, ProfileName, ProjectId, Resource, ResourceKind, ResourceName,
    Status, Step, StepId, Timestamp, ToolCall, TurnEpoch, TurnId, WorkerTarget,
};
use std::sync::Arc;

/// Which rows a reader wants. Every part that is given must hold; a part that a kind of row does not have is
/// ignored for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowFilter {
    /// Of this agent. For edges: as source or target.
    pub agent_id: Option<AgentId>,
    /// Of this turn. For edges: as source or target.
    pub turn_id: Option<TurnId>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// With this correlation.
    pub correlation_id: Option<String>,
    /// Edges of this primitive.
    pub primitive: Option<Primitive>,
    /// Edges of this phase.
    pub phase: Option<EdgePhase>,
    /// Inbox rows in this state.
    pub inbox_status: Option<InboxStatus>,
    /// Steps that ended so.
    pub step_status: Option<String>,
    /// Steps of this phase.
    pub step_phase: Option<String>,
    /// Audit rows of this actor.
    pub actor: Option<String>,
    /// Audit rows of this action.
    pub action: Option<AuditAction>,
    /// Audit rows about this subject.
    pub subject: Option<String>,
    /// Audit rows that ended so.
    pub verdict: Option<AuditVerdict>,
    /// Only inbox rows of turns, not of reports and stops.
    pub turns_only: bool,
    /// Created at or after this.
    pub from: Option<Timestamp>,
    /// Created before this.
    pub until: Option<Timestamp>,
}

/// Which agents of the roster a reader wants, by what they are doing. Every part that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RosterFilter {
    /// In this state.
    pub status: Option<Status>,
    /// With this live turn.
    pub turn_id: Option<TurnId>,
    /// With a live turn of this trace.
    pub trace_id: Option<String>,
    /// Changed at or after this (see [`Rostered::updated_at`]).
    pub from: Option<Timestamp>,
    /// Changed before this.
    pub until: Option<Timestamp>,
}

impl RosterFilter {
    /// Whether every part holds.
    pub fn takes(&self, one: &Rostered) -> bool {
        let live = one.head.as_ref().and_then(|head| head.live.as_ref());
        self.status.is_none_or(|status| one.status() == status)
            && self.turn_id.is_none_or(|turn| live.is_some_and(|live| live.turn_id == turn))
            && self.trace_id.as_ref().is_none_or(|trace| live.is_some_and(|live| live.trace_id == *trace))
            && self.from.is_none_or(|from| one.updated_at() >= from)
            && self.until.is_none_or(|until| one.updated_at() < until)
    }
}

/// How old rows must be for the watchdog to look at them. What to do about each is decided elsewhere; a store may
/// give too many rows, never too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// Heads `dispatched` at or before this.
    pub dispatched: Timestamp,
    /// Heads `running` and not updated since this, inclusive.
    pub running: Timestamp,
    /// Heads `suspended` with a deadline at or before this; and rows `deferred` until this or earlier.
    pub resume: Timestamp,
    /// Rows `pending` and created at or before this.
    pub pending: Timestamp,
    /// Rows of turns `processing` since this or earlier.
    pub processing: Timestamp,
    /// The same for other rows.
    pub given: Timestamp,
}

/// An agent of the roster, and what it is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rostered {
    /// Who.
    pub agent: Agent,
    /// None when it never had a turn: it is idle.
    pub head: Option<Head>,
}

impl Rostered {
    /// What it is doing.
    pub fn status(&self) -> Status {
        self.head.as_ref().map_or(Status::Idle, Head::status)
    }

    /// When that last changed: for one that never had a turn, when it was made.
    pub fn updated_at(&self) -> Timestamp {
        self.head.as_ref().map_or(self.agent.created_at, |head| head.updated_at)
    }

    /// Where it stands in the list: the greater comes first.
    pub fn place(&self) -> (Timestamp, &AgentId) {
        (self.agent.created_at, &self.agent.id)
    }
}

/// A row the watchdog looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Whose.
    pub project: ProjectId,
    /// The agent's head.
    pub head: Option<Head>,
    /// The inbox row: of the live turn for a due head, itself for a due row.
    pub item: Option<InboxItem>,
}

/// Which rows a worker wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimQuery {
    /// Served by it.
    pub worker_target: WorkerTarget,
    /// Of these projects; of all that are not deleted when `None`.
    pub projects: Option<Vec<ProjectId>>,
    /// Deferred rows whose time has come by now are claimable too.
    pub now: Timestamp,
    /// At most so many.
    pub limit: usize,
}

/// A row that may be claimed, with what the decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimable {
    /// The row: `pending`, or `deferred` and due.
    pub item: InboxItem,
    /// The row of the turn, when `item` is not that itself.
    pub turn: Option<InboxItem>,
    /// The agent's head.
    pub head: Option<Head>,
}

/// Whose turns are looked for: a worker is known by its target and its name for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldQuery {
    /// Served by it.
    pub worker_target: WorkerTarget,
    /// Its name for itself.
    pub worker_id: String,
    /// Of these projects; of all that are not deleted when `None`.
    pub projects: Option<Vec<ProjectId>>,
}

/// An inbox row in the hands of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRow {
    /// Its place in the queue.
    pub seq: u64,
    /// In which project.
    pub project: ProjectId,
    /// The turn that it is, or is for.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: Option<TurnEpoch>,
}

/// Decides what becomes of rows that nobody else can claim meanwhile. Pure, quick and repeatable; called once per
/// project.
pub type DecideClaim = Arc<dyn Fn(&ProjectId, Vec<Claimable>) -> Commit + Send + Sync>;

/// Turns, the roster and the execution graph.
#[async_trait]
pub trait Turns: Send + Sync {
    /// Claims rows: the oldest claimable rows are held so that no other claim is given them, `decide` makes the
    /// commit of each project, and the commit is applied with them still held. Rows held by another claim are passed
    /// over, never waited for. Oldest first (by `seq`), `limit` over all projects.
    ///
    /// A project whose commit conflicts (its heads were moved in between) is left out; the others stand. Answers the
    /// projects whose commits were applied; an empty commit is not one. `decide` may be called again for a project: its
    /// last call is the one that counts.
    async fn claim(&self, query: &ClaimQuery, decide: DecideClaim) -> Result<Vec<ProjectId>, CommitError>;

    /// Rows `processing` that a worker may have in its hands, oldest first (by `seq`), after a place: those of turns that are
    /// not suspended, and those of the answers that let suspended ones go on. What becomes of each is decided elsewhere.
    async fn held(&self, query: &HeldQuery, after: u64, limit: usize) -> Result<Vec<HeldRow>, StoreError>;

    /// Heads that may be due, by project and agent, after a key: live heads at the horizon, and idle heads with
    /// turns waiting.
    async fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Watched>, StoreError>;

    /// Inbox rows that may be due, by project and id, after a key.
    async fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Result<Vec<Watched>, StoreError>;

    /// Heads by agent, after `after`.
    async fn heads(
        &self,
        project: &ProjectId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError>;

    /// Agents with what they are doing, newest first. Those that were made at the same time are in the reverse order of their
    /// names.
    async fn roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Rostered>, StoreError>;

    /// The head of an agent.
    async fn head(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Head>, StoreError>;

    /// Inbox rows, newest first (by id), before `before`. Only `seq` says which of an agent's turns is next.
    async fn inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>, StoreError>;

    /// The row of a turn.
    async fn turn(&self, project: &ProjectId, turn: TurnId) -> Result<Option<InboxItem>, StoreError>;

    /// Tool calls of a turn, by id.
    async fn calls(&self, project: &ProjectId, turn: TurnId) -> Result<Vec<ToolCall>, StoreError>;

    /// Steps, newest first (by creation, then id), before `before`.
    async fn steps(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<&(Timestamp, StepId)>,
        limit: usize,
    ) -> Result<Vec<Step>, StoreError>;

    /// One step.
    async fn step(&self, project: &ProjectId, step: &StepId) -> Result<Option<Step>, StoreError>;

    /// Edges, newest first (by id), before `before`.
    async fn edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<Edge>, StoreError>;

    /// Identity edges, newest first (by id), before `before`. `RowFilter::agent_id` is source or target.
    async fn identity_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<IdentityEdge>, StoreError>;

    /// Agents by name, after `after`.
    async fn agents(
        &self,
        project: &ProjectId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<Agent>, StoreError>;

    /// One agent.
    async fn agent(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Agent>, StoreError>;

    /// Profiles by name, after `after`, deleted ones too.
    async fn profiles(
        &self,
        project: &ProjectId,
        after: Option<&ProfileName>,
        limit: usize,
    ) -> Result<Vec<Profile>, StoreError>;

    /// Documents of a kind by name, after `after`, deleted ones too.
    async fn resources(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<Resource>, StoreError>;
}
