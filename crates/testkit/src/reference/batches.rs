//! Reads of batches, and what else orchestration keeps.

use super::{
    ReferenceStore,
    state::{State, sweep_key},
};
use crate::wanted::{batch_is_wanted, branch_is_due, branch_is_unleased, is_open_turn};
use async_trait::async_trait;
use cardwire_model::{
    AgentId, Batch, BatchId, BatchStatus, BoxId, Branch, BranchKey, BranchStatus, InboxItem, ProjectId,
    Realm, Sweep, Timestamp, TurnId,
};
use cardwire_store::{BatchFilter, Batches, Standing, StoreError};
use std::collections::HashSet;

type Result<T> = std::result::Result<T, StoreError>;

impl State {
    /// A batch.
    pub fn batch(&self, realm: &Realm, id: BatchId) -> Option<&Batch> {
        self.batches.get(&(realm.clone(), id))
    }

    /// The batches of a realm, by id.
    pub fn batches(&self, realm: &Realm) -> impl DoubleEndedIterator<Item = &Batch> {
        self.batches.of(realm)
    }

    /// A branch.
    pub fn branch(&self, realm: &Realm, key: BranchKey) -> Option<&Branch> {
        self.branches.get(&(realm.clone(), key))
    }

    /// The branches of a batch, by index, from one on.
    pub fn branches(&self, realm: &Realm, batch_id: BatchId, from: u32) -> impl Iterator<Item = &Branch> {
        let key = |index| (realm.clone(), BranchKey { batch_id, index });
        self.branches.range(key(from)..=key(u32::MAX)).map(|(_, branch)| branch)
    }

    /// How many turns were started below a root.
    pub fn spent(&self, realm: &Realm, root: TurnId) -> u32 {
        self.trees.get(&(realm.clone(), root)).copied().unwrap_or(0)
    }

    /// The rows of open turns, in no particular order.
    pub(crate) fn open_turns(&self, realm: &Realm) -> impl Iterator<Item = &InboxItem> {
        self.inbox(realm).filter(|item| is_open_turn(item))
    }

    /// How a batch stands.
    pub fn standing(
        &self,
        realm: &Realm,
        id: BatchId,
        due: Timestamp,
        quiet: Timestamp,
        limit: usize,
    ) -> Option<Standing> {
        let batch = self.batch(realm, id)?.clone();
        let branches = || self.branches(realm, id, 0);
        let count = |status| branches().filter(|branch| branch.status == status).count() as u32;
        Some(Standing {
            open: branches().any(|branch| branch.status.is_open()),
            failed: branches().any(|branch| branch.status.is_failure()),
            succeeded: count(BranchStatus::Success).min(batch.enough),
            dispatched: count(BranchStatus::Dispatched).min(batch.parallel),
            pending: branches().filter(|one| branch_is_due(one, due)).take(limit).cloned().collect(),
            unleased: branches().filter(|one| branch_is_unleased(one, quiet)).take(limit).cloned().collect(),
            batch,
        })
    }

    /// By the turn that the branch names: only a turn that is in an inbox is open.
    fn open_branches(
        &self,
        realm: &Realm,
        id: BatchId,
        from: u32,
    ) -> impl Iterator<Item = (BranchKey, TurnId)> {
        let turn = |branch: &Branch| {
            let item = self.turn(realm, branch.turn_id?).filter(|item| is_open_turn(item))?;
            Some((branch.key, item.turn_id))
        };
        self.branches(realm, id, from).filter_map(turn)
    }

    /// Sweeps of all projects, in order.
    fn sweeps(&self) -> impl Iterator<Item = (ProjectId, Sweep)> {
        let of_project =
            |((realm, _), sweep): (&(Realm, _), &Sweep)| Some((realm.project()?.clone(), *sweep));
        self.sweeps.range(..).filter_map(of_project)
    }
}

#[async_trait]
impl Batches for ReferenceStore {
    async fn batch(&self, project: &ProjectId, batch: BatchId) -> Result<Option<Batch>> {
        self.with(|state| state.batch(&project.clone().into(), batch).cloned())
    }

    async fn batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Result<Vec<Batch>> {
        let realm = project.clone().into();
        let wanted =
            |batch: &&Batch| batch_is_wanted(filter, batch) && before.is_none_or(|before| batch.id < before);
        self.with(|state| state.batches(&realm).rev().filter(wanted).take(limit).cloned().collect())
    }

    async fn branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Branch>> {
        let realm = project.clone().into();
        self.with(|state| state.branches(&realm, batch, from).take(limit).cloned().collect())
    }

    async fn standing(
        &self,
        project: &ProjectId,
        batch: BatchId,
        due: Timestamp,
        quiet: Timestamp,
        limit: usize,
    ) -> Result<Option<Standing>> {
        self.with(|state| state.standing(&project.clone().into(), batch, due, quiet, limit))
    }

    async fn running_batches(
        &self,
        after: Option<&(ProjectId, BatchId)>,
        limit: usize,
    ) -> Result<Vec<(ProjectId, BatchId)>> {
        self.with(|state| {
            let running = state.batches.range(..).filter(|(_, batch)| batch.status == BatchStatus::Running);
            let keys = running.filter_map(|((realm, id), _)| Some((realm.project()?.clone(), *id)));
            keys.filter(|key| after.is_none_or(|after| key > after)).take(limit).collect()
        })
    }

    async fn sweeps(
        &self,
        after: Option<&(ProjectId, Sweep)>,
        limit: usize,
    ) -> Result<Vec<(ProjectId, Sweep)>> {
        let place = |(project, sweep): &(ProjectId, Sweep)| sweep_key(&project.clone().into(), *sweep);
        let after = after.map(place);
        let is_after = |one: &(ProjectId, Sweep)| after.as_ref().is_none_or(|after| place(one) > *after);
        self.with(|state| state.sweeps().filter(is_after).take(limit).collect())
    }

    async fn open_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Result<Vec<TurnId>> {
        let wanted = |item: &&InboxItem| {
            let is_child = item.parent_turn == Some(parent) && item.branch.is_none();
            is_child && after.is_none_or(|after| item.turn_id > after)
        };
        let realm = project.clone().into();
        self.with(|state| {
            let children = state.open_turns(&realm).filter(wanted);
            let mut found: Vec<_> = children.map(|item| item.turn_id).collect();
            found.sort_unstable();
            found.truncate(limit);
            found
        })
    }

    async fn open_branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<(BranchKey, TurnId)>> {
        let realm = project.clone().into();
        self.with(|state| state.open_branches(&realm, batch, from).take(limit).collect())
    }

    async fn granted(&self, project: &ProjectId, agent: &AgentId, boxes: &[BoxId]) -> Result<HashSet<BoxId>> {
        let key = |id: &BoxId| (Realm::from(project.clone()), agent.clone(), *id);
        self.with(|state| boxes.iter().copied().filter(|id| state.grants.has(&key(id))).collect())
    }

    async fn grants(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxId>> {
        let first = (Realm::from(project.clone()), agent.clone(), BoxId::from_uuid(uuid::Uuid::nil()));
        self.with(|state| {
            let from = state.grants.range(first.clone()..);
            let of_agent = from.take_while(|((realm, agent, _), _)| (realm, agent) == (&first.0, &first.1));
            let boxes = of_agent.map(|((_, _, box_id), _)| *box_id);
            boxes.filter(|box_id| after.is_none_or(|after| *box_id > after)).take(limit).collect()
        })
    }

    async fn spent(&self, project: &ProjectId, root: TurnId) -> Result<u32> {
        self.with(|state| state.spent(&project.clone().into(), root))
    }

    async fn open_turns(&self, project: &ProjectId, limit: u32) -> Result<u32> {
        let realm = project.clone().into();
        self.with(|state| state.open_turns(&realm).take(limit as usize).count() as u32)
    }

    async fn open_turns_in_trace(
        &self,
        project: &ProjectId,
        trace_id: &str,
        limit: usize,
    ) -> Result<Vec<InboxItem>> {
        let realm = project.clone().into();
        self.with(|state| {
            let of_trace = |item: &&InboxItem| item.trace_id.as_deref() == Some(trace_id);
            let mut found: Vec<_> = state.open_turns(&realm).filter(of_trace).cloned().collect();
            found.sort_by_key(|item| item.id);
            found.truncate(limit);
            found
        })
    }
}
