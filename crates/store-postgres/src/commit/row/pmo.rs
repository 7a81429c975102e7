//! Batches, branches, sweeps, grants and budgets.

use super::{Composite, Encoded, Fields, composite_to_sql};
use crate::number::to_bigint;
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchEnd, BranchKey, BranchStatus, CardId, CloseReason, Grant,
    Sweep, Timestamp, TurnId,
};
use tokio_postgres::types::Type;

/// A row of `state_pmo_batches`.
#[derive(Debug)]
pub(in crate::commit) struct BatchRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) batch: &'a Batch,
}

/// A change to the last fields of a batch that is running and closing for the reason that is known.
#[derive(Debug)]
pub(in crate::commit) struct BatchChange {
    pub(in crate::commit) batch_id: BatchId,
    pub(in crate::commit) from_closing: Option<CloseReason>,
    pub(in crate::commit) status: BatchStatus,
    pub(in crate::commit) closing: Option<CloseReason>,
    /// The result and the time, when it closes the batch.
    pub(in crate::commit) closes: Option<(Option<CardId>, Option<Timestamp>)>,
}

/// The same as a value of type `cw_batch_change`.
#[derive(Debug)]
pub(in crate::commit) struct BatchChangeRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) change: &'a BatchChange,
}

/// A batch to hold while its branches change: a value of type `cw_batch_lock`.
#[derive(Debug)]
pub(in crate::commit) struct BatchLock {
    pub(in crate::commit) batch_id: BatchId,
    /// It is changed as well.
    pub(in crate::commit) exclusive: bool,
}

/// A write to a branch.
#[derive(Debug)]
pub(in crate::commit) enum BranchWrite {
    Add(Box<Branch>),
    Move { from: BranchStatus, branch: Box<Branch> },
    End(Box<BranchEnd>),
}

/// The same as a value of type `cw_branch`.
#[derive(Debug)]
pub(in crate::commit) struct BranchRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) write: &'a BranchWrite,
}

/// A row of `state_pmo_sweeps`.
#[derive(Debug)]
pub(in crate::commit) struct SweepRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) sweep: Sweep,
}

/// A row of `state_box_grants`.
#[derive(Debug)]
pub(in crate::commit) struct GrantRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) grant: &'a Grant,
}

/// More turns below a root that has at most `most` of them: a value of type `cw_spending`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commit) struct Spending {
    pub(in crate::commit) root: TurnId,
    pub(in crate::commit) turns: u64,
    /// Below 0 when even the first turn would be too many.
    pub(in crate::commit) most: i64,
}

composite_to_sql!(
    BatchRow<'_>,
    BatchChangeRow<'_>,
    BatchLock,
    BranchRow<'_>,
    SweepRow<'_>,
    GrantRow<'_>,
    Spending
);

impl BranchWrite {
    /// Which branch.
    pub(in crate::commit) fn key(&self) -> BranchKey {
        match self {
            Self::Add(branch) | Self::Move { branch, .. } => branch.key,
            Self::End(end) => end.key,
        }
    }
}

impl Composite for BatchRow<'_> {
    const TYPE: &'static str = "state_pmo_batches";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let batch = self.batch;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &batch.id.uuid())?;
        row.put(&Type::TEXT, &batch.parent_agent.as_str())?;
        row.put(&Type::UUID, &batch.parent_turn.map(|turn| turn.uuid()))?;
        row.put(&Type::INT8, &batch.parent_epoch.map(|epoch| to_bigint(epoch.get())))?;
        row.put(&Type::TEXT, &batch.parent_call)?;
        row.put(&Type::TEXT, &batch.channel.as_str())?;
        row.put(&Type::TEXT, &batch.trace_id)?;
        row.put(&Type::INT8, &i64::from(batch.depth))?;
        row.put(&Type::INT8, &i64::from(batch.branches))?;
        row.put(&Type::BOOL, &batch.fail_fast)?;
        row.put(&Type::INT8, &i64::from(batch.enough))?;
        row.put(&Type::INT8, &i64::from(batch.parallel))?;
        row.put(&Type::INT8, &i64::from(batch.result_tokens))?;
        row.put(&Type::INT8, &batch.deadline_at.map(Timestamp::micros))?;
        row.put(&Type::INT8, &batch.created_at.micros())?;
        row.put(&Type::TEXT, &batch.status.as_str())?;
        row.put(&Type::TEXT, &batch.closing.map(CloseReason::as_str))?;
        row.put(&Type::UUID, &batch.result_card.map(|card| card.uuid()))?;
        row.put(&Type::INT8, &batch.closed_at.map(Timestamp::micros))?;
        row.put(&Type::TEXT, &batch.parent_step.as_ref().map(|step| step.as_str()))
    }
}

impl Composite for BatchChangeRow<'_> {
    const TYPE: &'static str = "cw_batch_change";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let change = self.change;
        let (result_card, closed_at) = change.closes.unwrap_or_default();
        row.put(&Type::TEXT, &"change")?;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &change.batch_id.uuid())?;
        row.put(&Type::TEXT, &change.from_closing.map(CloseReason::as_str))?;
        row.put(&Type::BOOL, &change.closes.is_some())?;
        row.put(&Type::TEXT, &change.status.as_str())?;
        row.put(&Type::TEXT, &change.closing.map(CloseReason::as_str))?;
        row.put(&Type::UUID, &result_card.map(|card| card.uuid()))?;
        row.put(&Type::INT8, &closed_at.map(Timestamp::micros))
    }
}

impl Composite for BatchLock {
    const TYPE: &'static str = "cw_batch_lock";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        row.put(&Type::UUID, &self.batch_id.uuid())?;
        row.put(&Type::BOOL, &self.exclusive)
    }
}

impl Composite for BranchRow<'_> {
    const TYPE: &'static str = "cw_branch";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let (op, from) = match self.write {
            BranchWrite::Add(_) => ("add", None),
            BranchWrite::Move { from, .. } => ("move", Some(from.as_str())),
            BranchWrite::End(_) => ("end", None),
        };
        let key = self.write.key();
        row.put(&Type::TEXT, &op)?;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &key.batch_id.uuid())?;
        row.put(&Type::INT8, &i64::from(key.index))?;
        row.put(&Type::TEXT, &from)?;
        match self.write {
            BranchWrite::Add(branch) | BranchWrite::Move { branch, .. } => put_branch(row, branch),
            BranchWrite::End(end) => put_end(row, end),
        }
    }
}

fn put_branch(row: &mut Fields<'_>, branch: &Branch) -> Encoded<()> {
    row.put(&Type::INT8, &branch.created_at.micros())?;
    row.put(&Type::TEXT, &branch.agent_id.as_ref().map(|agent| agent.as_str()))?;
    row.put(&Type::UUID, &branch.turn_id.map(|turn| turn.uuid()))?;
    row.put(&Type::INT8, &branch.epoch.map(|epoch| to_bigint(epoch.get())))?;
    row.put(&Type::UUID, &branch.context_box.map(|box_id| box_id.uuid()))?;
    row.put(&Type::UUID, &branch.output_box.map(|box_id| box_id.uuid()))?;
    row.put(&Type::INT8, &i64::from(branch.attempts))?;
    row.put(&Type::INT8, &branch.next_attempt_at.map(Timestamp::micros))?;
    row.put(&Type::TEXT, &branch.warning)?;
    row.put(&Type::TEXT, &branch.status.as_str())?;
    row.put(&Type::UUID, &branch.deliverable.map(|card| card.uuid()))?;
    row.put(&Type::TEXT, &branch.error_detail)?;
    row.put(&Type::TEXT, &branch.error_code)?;
    row.put(&Type::INT8, &branch.updated_at.micros())
}

fn put_end(row: &mut Fields<'_>, end: &BranchEnd) -> Encoded<()> {
    // From `created_at` to `warning`.
    for ty in [
        Type::INT8,
        Type::TEXT,
        Type::UUID,
        Type::INT8,
        Type::UUID,
        Type::UUID,
        Type::INT8,
        Type::INT8,
        Type::TEXT,
    ] {
        row.put_null(&ty);
    }
    row.put(&Type::TEXT, &BranchStatus::from(end.status).as_str())?;
    row.put(&Type::UUID, &end.deliverable.map(|card| card.uuid()))?;
    row.put(&Type::TEXT, &end.error_detail)?;
    row.put(&Type::TEXT, &end.error_code)?;
    row.put(&Type::INT8, &end.at.micros())
}

impl Composite for SweepRow<'_> {
    const TYPE: &'static str = "state_pmo_sweeps";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::TEXT, &self.sweep.scope())?;
        row.put(&Type::UUID, &self.sweep.uuid())
    }
}

impl Composite for GrantRow<'_> {
    const TYPE: &'static str = "state_box_grants";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let grant = self.grant;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::TEXT, &grant.agent_id.as_str())?;
        row.put(&Type::UUID, &grant.box_id.uuid())?;
        row.put(&Type::INT8, &grant.at.micros())
    }
}

impl Composite for Spending {
    const TYPE: &'static str = "cw_spending";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        row.put(&Type::UUID, &self.root.uuid())?;
        row.put(&Type::INT8, &to_bigint(self.turns))?;
        row.put(&Type::INT8, &self.most)
    }
}
