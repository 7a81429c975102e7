//! What a commit does to batches, branches, sweeps, grants and budgets.
//!
//! The server applies kinds in a fixed order, batches last (see `cw_pmo`). Where that is not the order of the commit, the
//! commit itself tells what must come out, and it is settled here: changes of one batch become one change, and an end
//! that comes after its batch was closed is left out.
//! Invariant: what is kept, applied kind by kind, is the same as the writes applied in turn.

mod rows;

pub(super) use rows::PmoRows;

use super::{
    payload::{Touched, With},
    row::{BatchChange, BranchWrite},
};
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchEnd, BranchKey, BranchStatus, CloseReason, Conflict, Grant,
    Sweep, TurnId,
};
use std::collections::{BTreeMap, BTreeSet};

/// The writes of one commit, by kind.
#[derive(Debug, Default)]
pub(super) struct PmoWrites {
    batches: Vec<Batch>,
    /// One for each batch.
    changes: BTreeMap<BatchId, BatchChange>,
    /// In the order of the commit.
    branches: Vec<BranchWrite>,
    /// Whether it is added; the last word on a sweep counts.
    sweeps: Vec<(Sweep, bool)>,
    grants: Vec<Grant>,
    /// In the order of the commit.
    spends: Vec<Spend>,
}

/// So many more turns below a root, at most `limit` in all.
#[derive(Debug, Clone, Copy)]
struct Spend {
    root: TurnId,
    turns: u32,
    limit: u32,
}

impl PmoWrites {
    /// A batch that was changed before is there already, or the change is refused.
    pub(super) fn create_batch(&mut self, batch: Batch) -> Result<(), Conflict> {
        let id = batch.id;
        // Ends that came before found no batch.
        self.branches.retain(|write| !matches!(write, BranchWrite::End(end) if end.key.batch_id == id));
        self.batches.push(batch);
        if self.changes.contains_key(&id) { Err(Conflict::Batch) } else { Ok(()) }
    }

    pub(super) fn begin_close(&mut self, batch_id: BatchId, reason: CloseReason) -> Result<(), Conflict> {
        let change = self.change(batch_id, None)?;
        change.closing = Some(reason);
        Ok(())
    }

    pub(super) fn close_batch(&mut self, batch: &Batch) -> Result<(), Conflict> {
        let change = self.change(batch.id, batch.closing)?;
        change.status = batch.status;
        change.closes = Some((batch.result_card, batch.closed_at));
        Ok(())
    }

    /// The change of a batch that is running and closing for this reason; a conflict when it is known not to be.
    fn change(
        &mut self,
        batch_id: BatchId,
        closing: Option<CloseReason>,
    ) -> Result<&mut BatchChange, Conflict> {
        let status = BatchStatus::Running;
        let first = BatchChange { batch_id, from_closing: closing, status, closing, closes: None };
        let change = self.changes.entry(batch_id).or_insert(first);
        if change.status == status && change.closing == closing { Ok(change) } else { Err(Conflict::Batch) }
    }

    pub(super) fn add_branch(&mut self, branch: Box<Branch>) {
        self.branches.push(BranchWrite::Add(branch));
    }

    pub(super) fn move_branch(&mut self, from: BranchStatus, branch: Box<Branch>) {
        self.branches.push(BranchWrite::Move { from, branch });
    }

    pub(super) fn end_branch(&mut self, end: Box<BranchEnd>) {
        if self.changes.get(&end.key.batch_id).is_none_or(BatchChange::leaves_it_going_on) {
            self.branches.push(BranchWrite::End(end));
        }
    }

    pub(super) fn sweep(&mut self, sweep: Sweep, is_added: bool) {
        self.sweeps.push((sweep, is_added));
    }

    pub(super) fn grant(&mut self, grant: Grant) {
        self.grants.push(grant);
    }

    pub(super) fn spend(&mut self, root: TurnId, turns: u32, limit: u32) {
        self.spends.push(Spend { root, turns, limit });
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { batches, changes, branches, sweeps, grants, spends } = self;
        batches.is_empty()
            && changes.is_empty()
            && branches.is_empty()
            && sweeps.is_empty()
            && grants.is_empty()
            && spends.is_empty()
    }

    /// Batches and branches over which commits meet. Branches of one batch are written by as many as want to, as long as
    /// nobody writes the batch itself; writes to one branch stay in their order.
    pub(super) fn touched(&self) -> impl Iterator<Item = Touched> {
        let mut batches: BTreeMap<BatchId, With> = BTreeMap::new();
        batches.extend(self.branches.iter().map(|write| (write.key().batch_id, With::Any)));
        batches.extend(self.batches.iter().map(|batch| (batch.id, With::None)));
        batches.extend(self.changes.keys().map(|id| (*id, With::None)));
        let branches: BTreeSet<BranchKey> = self.branches.iter().map(BranchWrite::key).collect();
        let batches = batches.into_iter().map(|(id, with)| Touched::batch(id, with));
        batches.chain(branches.into_iter().map(Touched::branch))
    }

    /// How many bytes it will be on the wire, about.
    pub(super) fn size(&self) -> usize {
        const ROW: usize = 300;
        let Self { batches, changes, branches, sweeps, grants, spends } = self;
        let small = changes.len() + sweeps.len() + grants.len() + spends.len();
        ROW * (batches.len() + branches.len()) + 100 * small
    }
}

impl BatchChange {
    /// Ends of branches count after it: it was running and not closing before, and still is.
    fn leaves_it_going_on(&self) -> bool {
        self.status == BatchStatus::Running && self.closing.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{TaskStatus, Timestamp};
    use uuid::Uuid;

    const BATCH: BatchId = BatchId::from_uuid(Uuid::from_u128(7));

    fn end(index: u32) -> Box<BranchEnd> {
        Box::new(BranchEnd {
            key: BranchKey { batch_id: BATCH, index },
            status: TaskStatus::Success,
            deliverable: None,
            error_detail: None,
            error_code: None,
            at: Timestamp::from_micros(0),
        })
    }

    #[test]
    fn ends_of_one_batch_are_shared_until_the_batch_itself_is_changed() {
        let mut writes = PmoWrites::default();
        writes.end_branch(end(0));
        writes.end_branch(end(1));
        let branches = [0, 1].map(|index| Touched::branch(BranchKey { batch_id: BATCH, index }));
        assert_ne!(branches[0].row, branches[1].row);
        let touched = |with| [&[Touched::batch(BATCH, with)], &branches[..]].concat();
        assert_eq!(writes.touched().collect::<Vec<_>>(), touched(With::Any));
        writes.begin_close(BATCH, CloseReason::Deadline).unwrap();
        assert_eq!(writes.touched().collect::<Vec<_>>(), touched(With::None));
    }

    #[test]
    fn an_end_after_its_batch_was_closed_is_left_out() {
        let mut writes = PmoWrites::default();
        writes.end_branch(end(0));
        writes.begin_close(BATCH, CloseReason::Deadline).unwrap();
        writes.end_branch(end(1));
        assert_eq!(writes.branches.len(), 1);
        assert_eq!(writes.begin_close(BATCH, CloseReason::Enough), Err(Conflict::Batch));
    }
}
