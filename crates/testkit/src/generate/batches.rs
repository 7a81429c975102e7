//! Sound writes to batches, and what else orchestration keeps.
//!
//! A branch and the row of its turn always name each other: from which of the two a store finds the open turns of a
//! batch is its own affair.

use super::Generator;
use cardwire_model::{
    Batch, BatchStatus, Branch, BranchKey, CloseReason, Commit, Grant, InboxItem, Realm, Sweep, Write,
};

impl Generator {
    /// A batch of the realm.
    pub(super) fn some_batch(&mut self, realm: &Realm) -> Option<Batch> {
        let id = self.some(realm, |known| &known.batches)?;
        self.model.batch(realm, id).cloned()
    }

    /// The first of some random batches that fits.
    pub(super) fn find_batch(&mut self, realm: &Realm, fits: fn(&Batch) -> bool) -> Option<Batch> {
        let candidates: Vec<_> = (0..super::TRIES).filter_map(|_| self.some_batch(realm)).collect();
        candidates.into_iter().find(fits)
    }

    /// A branch of the realm.
    pub(super) fn some_branch(&mut self, realm: &Realm) -> Option<Branch> {
        let key = self.some(realm, |known| &known.branches)?;
        self.model.branch(realm, key).cloned()
    }

    /// A batch with its first branches, some of which have their turns at once.
    pub(super) fn fork(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let batch = self.batch_row(&realm);
        commit.writes.push(Write::CreateBatch(Box::new(batch.clone())));
        for index in 0..self.rng.between(1, 6) as u32 {
            let branch = self.branch_row(&realm, BranchKey { batch_id: batch.id, index });
            commit.writes.push(Write::AddBranch(Box::new(branch.clone())));
            if self.rng.chance(40)
                && let Some(turn) = self.turn_of(&realm, &branch)
            {
                commit.writes.push(Write::Enqueue(Box::new(turn)));
            }
        }
        Some(())
    }

    /// One more branch: nothing says that they all come at once.
    pub(super) fn add_branch(&mut self, commit: &mut Commit) -> Option<()> {
        let batch = self.some_batch(&commit.realm)?;
        let key = BranchKey { batch_id: batch.id, index: self.rng.below(1_000) as u32 };
        let branch = self.branch_row(&commit.realm, key);
        commit.writes.push(Write::AddBranch(Box::new(branch)));
        Some(())
    }

    /// The row of a branch's turn, if it names one.
    fn turn_of(&mut self, realm: &Realm, branch: &Branch) -> Option<InboxItem> {
        let row = self.turn_row(realm, branch.turn_id?);
        Some(InboxItem { branch: Some(branch.key), ..row })
    }

    /// The turn of a branch that has none in an inbox.
    pub(super) fn enqueue_branch(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let branch = self.some_branch(&realm)?;
        let turn = self.turn_of(&realm, &branch)?;
        commit.writes.push(Write::Enqueue(Box::new(turn)));
        Some(())
    }

    pub(super) fn move_branch(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_branch(&commit.realm)?;
        let new = self.changed_branch(&commit.realm, &old);
        commit.writes.push(Write::MoveBranch { from: old.status, branch: Box::new(new) });
        Some(())
    }

    /// Of branches that are open or not, whose batch may be closed, or that are not there at all.
    pub(super) fn end_branches(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        for _ in 0..self.rng.between(1, 5) {
            let of_other = self.elsewhere(|known| &known.branches);
            let mut key = of_other.or_else(|| self.some(&realm, |known| &known.branches))?;
            if self.rng.chance(5) {
                key.index += 2_000;
            }
            let end = self.branch_end(&realm, key);
            commit.writes.push(Write::EndBranch(Box::new(end)));
        }
        Some(())
    }

    pub(super) fn begin_close(&mut self, commit: &mut Commit) -> Option<()> {
        let batch_id = self.find_batch(&commit.realm, is_going_on)?.id;
        let reason = *self.rng.pick(CloseReason::ALL)?;
        commit.writes.push(Write::BeginClose { batch_id, reason });
        Some(())
    }

    /// What was forked does not count, whatever stands here.
    pub(super) fn close_batch(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.find_batch(&commit.realm, |batch| batch.status == BatchStatus::Running)?;
        let new = Batch { id: old.id, closing: old.closing, ..self.batch_row(&commit.realm) };
        let new = self.closed(&commit.realm, new);
        commit.writes.push(Write::CloseBatch(Box::new(new)));
        Some(())
    }

    /// A batch that begins to close amid ends and moves of its branches: only the order says which of them count.
    pub(super) fn close_amid_ends(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let (batch, mut branches) = self.going_batch(commit)?;
        let begin = self.rng.below(9);
        for round in 0..9 {
            if round == begin {
                let reason = *self.rng.pick(CloseReason::ALL)?;
                commit.writes.push(Write::BeginClose { batch_id: batch.id, reason });
            }
            let nth = self.rng.below(branches.len());
            let branch = &mut branches[nth];
            if self.rng.chance(60) {
                let end = self.branch_end(&realm, branch.key);
                let counts = round < begin && branch.status.is_open();
                branch.status = if counts { end.status.into() } else { branch.status };
                commit.writes.push(Write::EndBranch(Box::new(end)));
            } else {
                let (from, new) = (branch.status, self.changed_branch(&realm, branch));
                *branch = new.clone();
                commit.writes.push(Write::MoveBranch { from, branch: Box::new(new) });
            }
        }
        Some(())
    }

    /// A batch of which ends of branches count, with its first branches; forked by the commit itself, or before.
    fn going_batch(&mut self, commit: &mut Commit) -> Option<(Batch, Vec<Branch>)> {
        let (batch, branches) = if self.rng.chance(30) {
            let from = commit.writes.len();
            self.fork(commit)?;
            let (mut batch, mut branches) = (None, vec![]);
            for write in &commit.writes[from..] {
                if let Write::CreateBatch(new) = write {
                    batch = Some(new.as_ref().clone());
                } else if let Write::AddBranch(new) = write {
                    branches.push(new.as_ref().clone());
                }
            }
            (batch?, branches)
        } else {
            let batch = self.find_batch(&commit.realm, is_going_on)?;
            let branches = self.model.branches(&commit.realm, batch.id, 0).take(4).cloned().collect();
            (batch, branches)
        };
        (!branches.is_empty()).then_some((batch, branches))
    }

    /// What is there, or is not, or is another kind of thing.
    fn sweep(&mut self, realm: &Realm) -> Sweep {
        let known = if self.rng.chance(60) { self.some(realm, |known| &known.sweeps) } else { None };
        let known = known.or_else(|| self.elsewhere(|known| &known.sweeps));
        known.unwrap_or_else(|| match self.rng.below(4) {
            0 => Sweep::Turn(self.any_turn(realm)),
            1 => Sweep::Batch(self.any_batch(realm)),
            2 => Sweep::Turn(self.ids.turn()),
            _ => Sweep::Batch(self.ids.batch()),
        })
    }

    pub(super) fn add_sweep(&mut self, commit: &mut Commit) -> Option<()> {
        let sweep = self.sweep(&commit.realm);
        commit.writes.push(Write::AddSweep(sweep));
        Some(())
    }

    pub(super) fn end_sweep(&mut self, commit: &mut Commit) -> Option<()> {
        let sweep = self.sweep(&commit.realm);
        commit.writes.push(Write::EndSweep(sweep));
        Some(())
    }

    pub(super) fn add_grant(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let again = if self.rng.chance(30) { self.some(&realm, |known| &known.grants) } else { None };
        let (agent_id, box_id) = again.unwrap_or_else(|| (self.any_agent(&realm), self.output_box(&realm)));
        commit.writes.push(Write::AddGrant(Box::new(Grant { agent_id, box_id, at: self.lately() })));
        Some(())
    }

    /// Sometimes up to the limit.
    pub(super) fn spend(&mut self, commit: &mut Commit) -> Option<()> {
        let root = self.any_root(&commit.realm);
        let turns = self.rng.below(5) as u32;
        let limit = self.model.spent(&commit.realm, root) + turns + self.rng.below(3) as u32;
        commit.writes.push(Write::Spend { root, turns, limit });
        Some(())
    }
}

/// Ends of branches still count.
fn is_going_on(batch: &Batch) -> bool {
    batch.status == BatchStatus::Running && batch.closing.is_none()
}
