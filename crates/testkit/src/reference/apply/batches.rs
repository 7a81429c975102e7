//! Batches, their branches, sweeps, grants and the budgets of trees.

use super::{Applied, holds};
use crate::reference::state::State;
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchEnd, BranchStatus, CloseReason, Conflict, Grant, Realm, TurnId,
};

impl State {
    pub(super) fn create_batch(&mut self, realm: &Realm, batch: &Batch) -> Applied {
        let key = (realm.clone(), batch.id);
        holds(!self.batches.has(&key), Conflict::Batch)?;
        self.batches.put(key, batch.clone());
        Ok(())
    }

    pub(super) fn begin_close(&mut self, realm: &Realm, batch_id: BatchId, reason: CloseReason) -> Applied {
        let mut batch = self.batch(realm, batch_id).ok_or(Conflict::Batch)?.clone();
        holds(is_going_on(&batch), Conflict::Batch)?;
        batch.closing = Some(reason);
        self.batches.put((realm.clone(), batch_id), batch);
        Ok(())
    }

    /// What was forked stays.
    pub(super) fn close_batch(&mut self, realm: &Realm, new: &Batch) -> Applied {
        let mut batch = self.batch(realm, new.id).ok_or(Conflict::Batch)?.clone();
        holds(batch.status == BatchStatus::Running && batch.closing == new.closing, Conflict::Batch)?;
        batch.status = new.status;
        batch.result_card = new.result_card;
        batch.closed_at = new.closed_at;
        self.batches.put((realm.clone(), new.id), batch);
        Ok(())
    }

    pub(super) fn add_branch(&mut self, realm: &Realm, branch: &Branch) -> Applied {
        let key = (realm.clone(), branch.key);
        holds(!self.branches.has(&key), Conflict::Batch)?;
        self.branches.put(key, branch.clone());
        Ok(())
    }

    /// Its birth stays. How its batch is does not matter: whoever closes a batch moves its branches.
    pub(super) fn move_branch(&mut self, realm: &Realm, from: BranchStatus, new: &Branch) -> Applied {
        let old = self.branch(realm, new.key).ok_or(Conflict::Batch)?;
        holds(old.status == from, Conflict::Batch)?;
        let branch = Branch { created_at: old.created_at, ..new.clone() };
        self.branches.put((realm.clone(), branch.key), branch);
        Ok(())
    }

    /// Never a conflict: a turn ends whether or not somebody still waits for it.
    pub(super) fn end_branch(&mut self, realm: &Realm, end: &BranchEnd) {
        let counts = self.batch(realm, end.key.batch_id).is_some_and(is_going_on);
        let open = self.branch(realm, end.key).filter(|branch| branch.status.is_open());
        let (true, Some(branch)) = (counts, open) else { return };
        let branch = Branch {
            status: end.status.into(),
            deliverable: end.deliverable,
            error_detail: end.error_detail.clone(),
            error_code: end.error_code.clone(),
            updated_at: end.at,
            ..branch.clone()
        };
        self.branches.put((realm.clone(), end.key), branch);
    }

    /// The first one stays.
    pub(super) fn add_grant(&mut self, realm: &Realm, grant: &Grant) {
        let key = (realm.clone(), grant.agent_id.clone(), grant.box_id);
        if !self.grants.has(&key) {
            self.grants.put(key, grant.clone());
        }
    }

    pub(super) fn spend(&mut self, realm: &Realm, root: TurnId, turns: u32, limit: u32) -> Applied {
        let spent = self.spent(realm, root).checked_add(turns).filter(|spent| *spent <= limit);
        self.trees.put((realm.clone(), root), spent.ok_or(Conflict::Tree)?);
        Ok(())
    }
}

/// Ends of branches still count.
fn is_going_on(batch: &Batch) -> bool {
    batch.status == BatchStatus::Running && batch.closing.is_none()
}
