//! Spoilers of batches, branches and budgets.

use super::Generator;
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchKey, BranchStatus, CloseReason, Commit, Write,
};

impl Generator {
    pub(super) fn create_taken_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_batch(&commit.realm)?;
        let batch = Batch { id: taken.id, ..self.batch_row(&commit.realm) };
        self.insert(commit, Write::CreateBatch(Box::new(batch)))
    }

    pub(super) fn create_batch_twice(&mut self, commit: &mut Commit) -> Option<()> {
        self.model.project(commit.realm.project()?)?;
        let id = self.ids.batch();
        for _ in 0..2 {
            let batch = Batch { id, ..self.batch_row(&commit.realm) };
            self.insert(commit, Write::CreateBatch(Box::new(batch)))?;
        }
        Some(())
    }

    fn insert_begin(&mut self, commit: &mut Commit, batch_id: BatchId) -> Option<()> {
        let reason = *self.rng.pick(CloseReason::ALL)?;
        self.insert(commit, Write::BeginClose { batch_id, reason })
    }

    pub(super) fn begin_close_of_absent_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.ids.batch();
        self.insert_begin(commit, id)
    }

    pub(super) fn begin_close_again(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = self.find_batch(&commit.realm, |batch| batch.closing.is_some())?;
        self.insert_begin(commit, batch.id)
    }

    pub(super) fn begin_close_of_closed_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = self.find_batch(&commit.realm, |batch| {
            batch.status != BatchStatus::Running && batch.closing.is_none()
        })?;
        self.insert_begin(commit, batch.id)
    }

    fn insert_close(&mut self, commit: &mut Commit, batch: Batch) -> Option<()> {
        let batch = self.closed(&commit.realm, batch);
        self.insert(commit, Write::CloseBatch(Box::new(batch)))
    }

    pub(super) fn close_absent_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = Batch { id: self.ids.batch(), ..self.batch_row(&commit.realm) };
        self.insert_close(commit, batch)
    }

    pub(super) fn close_closed_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = self.find_batch(&commit.realm, |batch| batch.status != BatchStatus::Running)?;
        self.insert_close(commit, batch)
    }

    pub(super) fn close_from_other_closing(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = self.find_batch(&commit.realm, |batch| batch.status == BatchStatus::Running)?;
        let begins =
            |write: &Write| matches!(write, Write::BeginClose { batch_id, .. } if *batch_id == batch.id);
        let reason = self.rng.chance(70).then(|| CloseReason::ALL[self.rng.below(CloseReason::ALL.len())]);
        if reason == batch.closing || commit.writes.iter().any(begins) {
            return None;
        }
        self.insert_close(commit, Batch { closing: reason, ..batch })
    }

    pub(super) fn close_foreign_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let elsewhere = self.any_known_realm();
        let batch = self.find_batch(&elsewhere, |batch| batch.status == BatchStatus::Running)?;
        let creates = |write: &Write| matches!(write, Write::CreateBatch(new) if new.id == batch.id);
        if self.model.batch(&commit.realm, batch.id).is_some() || commit.writes.iter().any(creates) {
            return None;
        }
        if self.rng.chance(50) {
            self.insert_begin(commit, batch.id)
        } else {
            self.insert_close(commit, batch)
        }
    }

    pub(super) fn add_taken_branch(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_branch(&commit.realm)?;
        let branch = self.branch_row(&commit.realm, taken.key);
        self.insert(commit, Write::AddBranch(Box::new(branch)))
    }

    pub(super) fn add_branch_twice(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = self.some_batch(&commit.realm)?;
        let key = BranchKey { batch_id: batch.id, index: 5_000 };
        for _ in 0..2 {
            let branch = self.branch_row(&commit.realm, key);
            self.insert(commit, Write::AddBranch(Box::new(branch)))?;
        }
        Some(())
    }

    fn insert_move(&mut self, commit: &mut Commit, from: BranchStatus, old: &Branch) -> Option<()> {
        let branch = Box::new(self.changed_branch(&commit.realm, old));
        self.insert(commit, Write::MoveBranch { from, branch })
    }

    pub(super) fn move_absent_branch(&mut self, commit: &mut Commit) -> Option<()> {
        let key = BranchKey { batch_id: self.any_batch(&commit.realm), index: 6_000 };
        let branch = self.branch_row(&commit.realm, key);
        self.insert_move(commit, branch.status, &branch)
    }

    pub(super) fn move_foreign_branch(&mut self, commit: &mut Commit) -> Option<()> {
        let elsewhere = self.any_known_realm();
        let branch = self.some_branch(&elsewhere)?;
        let adds = |write: &Write| matches!(write, Write::AddBranch(new) if new.key == branch.key);
        if self.model.branch(&commit.realm, branch.key).is_some() || commit.writes.iter().any(adds) {
            return None;
        }
        self.insert_move(commit, branch.status, &branch)
    }

    pub(super) fn move_branch_from_other_status(&mut self, commit: &mut Commit) -> Option<()> {
        let branch = self.some_branch(&commit.realm)?;
        let touches = |write: &Write| {
            matches!(write, Write::MoveBranch { branch: new, .. } if new.key == branch.key)
                || matches!(write, Write::EndBranch(end) if end.key == branch.key)
        };
        let from = *self.rng.pick(BranchStatus::ALL)?;
        if from == branch.status || commit.writes.iter().any(touches) {
            return None;
        }
        self.insert_move(commit, from, &branch)
    }

    /// One more than the limit, or a limit that was passed before.
    pub(super) fn spend_too_much(&mut self, commit: &mut Commit) -> Option<()> {
        self.model.project(commit.realm.project()?)?;
        let root = self.any_root(&commit.realm);
        let turns = self.rng.between(1, 5) as u32;
        let all = self.model.spent(&commit.realm, root) + turns;
        let limit = if self.rng.chance(50) { all - 1 } else { self.rng.below(all as usize) as u32 };
        self.insert(commit, Write::Spend { root, turns, limit })
    }
}
