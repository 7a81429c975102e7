//! The store as a process sees it: it fails, it dies with its process, it takes a while, and in a run with a planted
//! bug it tells the kernel lies.

use super::{faults::Fault, mutants, world::Shared};
use async_trait::async_trait;
use cardwire_model::*;
use cardwire_store::*;
use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

pub(super) struct SimStore {
    pub(super) inner: Arc<dyn Store>,
    pub(super) shared: Arc<Shared>,
    alive: AtomicBool,
}

type Res<T> = Result<T, StoreError>;

fn gone() -> StoreError {
    StoreError::Unavailable("simulated".to_owned())
}

impl SimStore {
    pub(super) fn new(inner: Arc<dyn Store>, shared: Arc<Shared>) -> Self {
        Self { inner, shared, alive: AtomicBool::new(true) }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    fn die(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    fn check_alive(&self) -> Res<()> {
        if self.is_alive() { Ok(()) } else { Err(gone()) }
    }

    /// Lets others run, then perhaps fails.
    async fn read(&self) -> Res<()> {
        let pauses = self.shared.below(3);
        for _ in 0..pauses {
            pause().await;
        }
        self.check_alive()?;
        if self.shared.strikes(Fault::ReadFails, 2) { Err(gone()) } else { Ok(()) }
    }

    /// What happens around a commit.
    async fn write<T>(&self, apply: impl Future<Output = Result<T, CommitError>>) -> Result<T, CommitError> {
        let pauses = self.shared.below(3);
        for _ in 0..pauses {
            pause().await;
        }
        self.check_alive()?;
        if self.shared.strikes(Fault::CommitFails, 3) {
            return Err(gone().into());
        }
        if self.shared.strikes(Fault::CrashBeforeCommit, 2) {
            self.die();
            return Err(gone().into());
        }
        let outcome = apply.await;
        if self.shared.strikes(Fault::CrashAfterCommit, 2) {
            self.die();
            return Err(StoreError::Uncertain("simulated".to_owned()).into());
        }
        if self.shared.strikes(Fault::AnswerLost, 3) {
            return Err(StoreError::Uncertain("simulated".to_owned()).into());
        }
        outcome
    }
}

/// Gives way once.
pub(super) async fn pause() {
    let mut given = false;
    std::future::poll_fn(|context| {
        if given {
            return std::task::Poll::Ready(());
        }
        given = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[async_trait]
impl Store for SimStore {
    async fn load(&self, realm: &Realm, keys: &Keys) -> Res<Snapshot> {
        self.read().await?;
        let mut snapshot = self.inner.load(realm, keys).await?;
        mutants::bend_snapshot(&self.shared, keys, &mut snapshot);
        Ok(snapshot)
    }

    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.write(async {
            let commit = mutants::bend_commit(&self.shared, self.inner.as_ref(), commit).await;
            let seen = commit.clone();
            self.inner.commit(commit).await?;
            self.shared.observer.lock().unwrap().applied(&seen, &self.shared);
            Ok(())
        })
        .await
    }

    async fn number_events(&self) -> Res<u64> {
        self.inner.number_events().await
    }

    async fn unsealed_audit(&self, limit: usize) -> Res<Vec<Unsealed>> {
        self.inner.unsealed_audit(limit).await
    }

    async fn forget_answers(&self, before: Timestamp) -> Res<u64> {
        self.inner.forget_answers(before).await
    }

    async fn close(&self) {}
}

#[async_trait]
impl Turns for SimStore {
    async fn claim(&self, query: &ClaimQuery, decide: DecideClaim) -> Result<Vec<ProjectId>, CommitError> {
        self.write(async {
            let commits: Arc<Mutex<Vec<(ProjectId, Commit)>>> = Arc::default();
            let seen = Arc::clone(&commits);
            let shared = Arc::clone(&self.shared);
            let spying: DecideClaim = Arc::new(move |project: &ProjectId, rows: Vec<Claimable>| {
                let commit = mutants::bend_claim(&shared, decide(project, rows));
                seen.lock().unwrap().push((project.clone(), commit.clone()));
                commit
            });
            let applied = self.inner.claim(query, spying).await?;
            for (project, commit) in commits.lock().unwrap().iter() {
                if applied.contains(project) {
                    self.shared.observer.lock().unwrap().applied(commit, &self.shared);
                }
            }
            Ok(applied)
        })
        .await
    }

    async fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Res<Vec<Watched>> {
        self.read().await?;
        self.inner.due_heads(horizon, after, limit).await
    }

    async fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Res<Vec<Watched>> {
        self.read().await?;
        self.inner.due_items(horizon, after, limit).await
    }

    async fn heads(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Res<Vec<Head>> {
        self.read().await?;
        self.inner.heads(project, after, limit).await
    }

    async fn roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Res<Vec<Rostered>> {
        self.read().await?;
        self.inner.roster(project, filter, before, limit).await
    }

    async fn head(&self, project: &ProjectId, agent: &AgentId) -> Res<Option<Head>> {
        self.read().await?;
        self.inner.head(project, agent).await
    }

    async fn inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Res<Vec<InboxItem>> {
        self.read().await?;
        self.inner.inbox(project, filter, before, limit).await
    }

    async fn turn(&self, project: &ProjectId, turn: TurnId) -> Res<Option<InboxItem>> {
        self.read().await?;
        self.inner.turn(project, turn).await
    }

    async fn calls(&self, project: &ProjectId, turn: TurnId) -> Res<Vec<ToolCall>> {
        self.read().await?;
        let calls = self.inner.calls(project, turn).await?;
        Ok(mutants::bend_calls(&self.shared, calls))
    }

    async fn steps(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<&(Timestamp, StepId)>,
        limit: usize,
    ) -> Res<Vec<Step>> {
        self.inner.steps(project, filter, before, limit).await
    }

    async fn step(&self, project: &ProjectId, step: &StepId) -> Res<Option<Step>> {
        self.inner.step(project, step).await
    }

    async fn edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Res<Vec<Edge>> {
        self.inner.edges(project, filter, before, limit).await
    }

    async fn identity_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Res<Vec<IdentityEdge>> {
        self.inner.identity_edges(project, filter, before, limit).await
    }

    async fn agents(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Res<Vec<Agent>> {
        self.inner.agents(project, after, limit).await
    }

    async fn agent(&self, project: &ProjectId, agent: &AgentId) -> Res<Option<Agent>> {
        self.inner.agent(project, agent).await
    }

    async fn profiles(
        &self,
        project: &ProjectId,
        after: Option<&ProfileName>,
        limit: usize,
    ) -> Res<Vec<Profile>> {
        self.inner.profiles(project, after, limit).await
    }

    async fn resources(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Res<Vec<Resource>> {
        self.inner.resources(project, kind, after, limit).await
    }
}

#[async_trait]
impl Batches for SimStore {
    async fn batch(&self, project: &ProjectId, batch: BatchId) -> Res<Option<Batch>> {
        self.read().await?;
        self.inner.batch(project, batch).await
    }

    async fn batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Res<Vec<Batch>> {
        self.read().await?;
        self.inner.batches(project, filter, before, limit).await
    }

    async fn branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Res<Vec<Branch>> {
        self.read().await?;
        self.inner.branches(project, batch, from, limit).await
    }

    async fn standing(
        &self,
        project: &ProjectId,
        batch: BatchId,
        due: Timestamp,
        quiet: Timestamp,
        limit: usize,
    ) -> Res<Option<Standing>> {
        self.read().await?;
        let mut standing = self.inner.standing(project, batch, due, quiet, limit).await?;
        if let Some(standing) = &mut standing {
            mutants::bend_standing(&self.shared, standing);
        }
        Ok(standing)
    }

    async fn running_batches(
        &self,
        after: Option<&(ProjectId, BatchId)>,
        limit: usize,
    ) -> Res<Vec<(ProjectId, BatchId)>> {
        self.read().await?;
        self.inner.running_batches(after, limit).await
    }

    async fn sweeps(&self, after: Option<&(ProjectId, Sweep)>, limit: usize) -> Res<Vec<(ProjectId, Sweep)>> {
        self.read().await?;
        self.inner.sweeps(after, limit).await
    }

    async fn open_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Res<Vec<TurnId>> {
        self.read().await?;
        let children = self.inner.open_children(project, parent, after, limit).await?;
        Ok(mutants::bend_stops(&self.shared, children))
    }

    async fn open_branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Res<Vec<(BranchKey, TurnId)>> {
        self.read().await?;
        let branches = self.inner.open_branches(project, batch, from, limit).await?;
        Ok(mutants::bend_stops(&self.shared, branches))
    }

    async fn granted(&self, project: &ProjectId, agent: &AgentId, boxes: &[BoxId]) -> Res<HashSet<BoxId>> {
        self.read().await?;
        self.inner.granted(project, agent, boxes).await
    }

    async fn grants(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Res<Vec<BoxId>> {
        self.read().await?;
        self.inner.grants(project, agent, after, limit).await
    }

    async fn spent(&self, project: &ProjectId, root: TurnId) -> Res<u32> {
        self.read().await?;
        self.inner.spent(project, root).await
    }

    async fn open_turns(&self, project: &ProjectId, limit: u32) -> Res<u32> {
        self.read().await?;
        self.inner.open_turns(project, limit).await
    }

    async fn open_turns_in_trace(
        &self,
        project: &ProjectId,
        trace_id: &str,
        limit: usize,
    ) -> Res<Vec<InboxItem>> {
        self.read().await?;
        self.inner.open_turns_in_trace(project, trace_id, limit).await
    }
}

#[async_trait]
impl Sessions for SimStore {
    async fn session(&self, project: &ProjectId, key: &SessionKey) -> Res<Option<Session>> {
        self.read().await?;
        self.inner.session(project, key).await
    }

    async fn sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Res<Vec<Session>> {
        self.read().await?;
        self.inner.sessions(project, namespace, after, limit).await
    }
}

#[async_trait]
impl Search for SimStore {
    async fn search(&self, project: &ProjectId, query: &SearchQuery) -> Res<Vec<Hit>> {
        self.read().await?;
        self.inner.search(project, query).await
    }

    async fn passages(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        after: Option<&(String, u32)>,
        limit: usize,
    ) -> Res<Vec<Passage>> {
        self.read().await?;
        self.inner.passages(project, shelf, after, limit).await
    }
}

#[async_trait]
impl Catalog for SimStore {
    async fn box_head(&self, project: &ProjectId, box_id: BoxId) -> Res<Option<BoxAt>> {
        self.inner.box_head(project, box_id).await
    }

    async fn box_entries(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Res<Vec<Entry>> {
        self.inner.box_entries(project, box_id, generation, from).await
    }

    async fn box_cards(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Res<Vec<HydratedEntry>> {
        self.read().await?;
        self.inner.box_cards(project, box_id, generation, from).await
    }

    async fn cards(&self, project: &ProjectId, ids: &[CardId]) -> Res<Vec<Card>> {
        self.inner.cards(project, ids).await
    }

    async fn scan_cards(&self, project: &ProjectId, after: Option<CardId>, limit: usize) -> Res<Vec<Card>> {
        self.inner.scan_cards(project, after, limit).await
    }

    async fn scan_boxes(&self, project: &ProjectId, after: Option<BoxId>, limit: usize) -> Res<Vec<BoxHead>> {
        self.inner.scan_boxes(project, after, limit).await
    }

    async fn project(&self, project: &ProjectId) -> Res<Option<Project>> {
        self.inner.project(project).await
    }

    async fn projects(&self, after: Option<&ProjectId>, limit: usize) -> Res<Vec<Project>> {
        self.inner.projects(after, limit).await
    }

    async fn token_by_hash(&self, hash: Hash256) -> Res<Option<Token>> {
        self.inner.token_by_hash(hash).await
    }

    async fn token_by_id(&self, id: TokenId) -> Res<Option<Token>> {
        self.inner.token_by_id(id).await
    }

    async fn tokens(&self, realm: Option<&Realm>, after: Option<TokenId>, limit: usize) -> Res<Vec<Token>> {
        self.inner.tokens(realm, after, limit).await
    }

    async fn events(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
        limit: usize,
    ) -> Res<Vec<Event>> {
        self.inner.events(project, after, filter, limit).await
    }

    async fn last_position(&self, project: &ProjectId) -> Res<u64> {
        self.inner.last_position(project).await
    }

    async fn audit(
        &self,
        realm: &Realm,
        filter: &RowFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Res<Vec<AuditRow>> {
        self.inner.audit(realm, filter, before, limit).await
    }

    async fn audit_chain(&self, realm: &Realm, after: u64, limit: usize) -> Res<Vec<AuditRow>> {
        self.inner.audit_chain(realm, after, limit).await
    }

    async fn health(&self) -> Res<Health> {
        self.inner.health().await
    }
}
