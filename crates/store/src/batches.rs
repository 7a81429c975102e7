//! Reads of batches, and what else orchestration keeps.

use crate::StoreError;
use async_trait::async_trait;
use cardwire_model::{
    AgentId, Batch, BatchId, BatchStatus, BoxId, Branch, BranchKey, InboxItem, ProjectId, Sweep, Timestamp,
    TurnId,
};
use std::collections::HashSet;

/// Which batches a reader wants. Every part that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchFilter {
    /// Forked by this agent.
    pub parent_agent: Option<AgentId>,
    /// Forked in this turn.
    pub parent_turn: Option<TurnId>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// In this state.
    pub status: Option<BatchStatus>,
    /// Created at or after this.
    pub from: Option<Timestamp>,
    /// Created before this.
    pub until: Option<Timestamp>,
}

/// What is to be known to go on with a batch, without reading all its branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its row.
    pub batch: Batch,
    /// Whether a branch is open.
    pub open: bool,
    /// Whether a branch has failed (`failed`, `canceled`, `timeout`).
    pub failed: bool,
    /// Branches that have succeeded, counted up to `Batch::enough`: 0 when all branches are waited for.
    pub succeeded: u32,
    /// Branches that are `dispatched`, counted up to `Batch::parallel`: 0 when all may be under way at once.
    pub dispatched: u32,
    /// The first branches that are `pending` and whose `next_attempt_at` is absent or not after the moment asked for, by
    /// index; at most the limit asked for.
    pub pending: Vec<Branch>,
    /// The first branches that are `dispatched`, have no epoch and were last changed before the moment asked for, by
    /// index; at most the limit asked for.
    pub unleased: Vec<Branch>,
}

/// Batches, sweeps, grants and budgets.
#[async_trait]
pub trait Batches: Send + Sync {
    /// A batch.
    async fn batch(&self, project: &ProjectId, batch: BatchId) -> Result<Option<Batch>, StoreError>;

    /// Batches, newest first (by id), before `before`.
    async fn batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Result<Vec<Batch>, StoreError>;

    /// Branches of a batch by index, from `from` on.
    async fn branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Branch>, StoreError>;

    /// How a batch stands, in one consistent read. `due` is for [`Standing::pending`], `quiet` for
    /// [`Standing::unleased`], `limit` for both.
    async fn standing(
        &self,
        project: &ProjectId,
        batch: BatchId,
        due: Timestamp,
        quiet: Timestamp,
        limit: usize,
    ) -> Result<Option<Standing>, StoreError>;

    /// Batches that are running, of all projects, by project and id, after a key.
    async fn running_batches(
        &self,
        after: Option<&(ProjectId, BatchId)>,
        limit: usize,
    ) -> Result<Vec<(ProjectId, BatchId)>, StoreError>;

    /// Sweeps that are still to be done, of all projects, by project, name of the scope (`batch` before `turn`) and id, after a key.
    async fn sweeps(
        &self,
        after: Option<&(ProjectId, Sweep)>,
        limit: usize,
    ) -> Result<Vec<(ProjectId, Sweep)>, StoreError>;

    /// Turns that are open (their inbox rows of kind `turn` have an open status) and were started by a turn, by id, after
    /// a key. Branches of batches are left out: their batch says what becomes of them.
    async fn open_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Result<Vec<TurnId>, StoreError>;

    /// Branches of a batch whose turns (by `Branch::turn_id`) are open, with those turns, by index, from `from` on.
    async fn open_branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<(BranchKey, TurnId)>, StoreError>;

    /// Which of these boxes were handed to an agent.
    async fn granted(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        boxes: &[BoxId],
    ) -> Result<HashSet<BoxId>, StoreError>;

    /// Boxes that were handed to an agent, by id, after `after`.
    async fn grants(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxId>, StoreError>;

    /// How many turns were started below a root.
    async fn spent(&self, project: &ProjectId, root: TurnId) -> Result<u32, StoreError>;

    /// How many turns of a project are open, counted up to `limit`.
    async fn open_turns(&self, project: &ProjectId, limit: u32) -> Result<u32, StoreError>;

    /// The open turns of a trace, oldest first (by id), at most so many.
    async fn open_turns_in_trace(
        &self,
        project: &ProjectId,
        trace_id: &str,
        limit: usize,
    ) -> Result<Vec<InboxItem>, StoreError>;
}
