//! A store that counts what is applied through it and hands everything on.
//!
//! Counted are commits that were applied and the rows they write, as far as the commit itself names them: what a
//! backend keeps beside them (positions, a second copy of a head) is not seen here.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use cardwire_model::*;
use cardwire_store::*;

pub(crate) struct Counting {
    inner: Arc<dyn Store>,
    commits: AtomicU64,
    rows: AtomicU64,
}

/// What was applied so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Applied {
    pub(crate) commits: u64,
    pub(crate) rows: u64,
}

impl Counting {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, commits: AtomicU64::new(0), rows: AtomicU64::new(0) })
    }

    pub(crate) fn applied(&self) -> Applied {
        Applied { commits: self.commits.load(Ordering::Relaxed), rows: self.rows.load(Ordering::Relaxed) }
    }

    fn count(&self, rows: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }
}

/// Rows inserted and updated.
fn rows_of(commit: &Commit) -> u64 {
    let written: usize = commit.writes.iter().map(rows_of_write).sum();
    (written + commit.events.len() + commit.audit.len()) as u64
}

fn rows_of_write(write: &Write) -> usize {
    match write {
        Write::CreateBox(new) | Write::RewriteBox(new) => 1 + new.entries.len(),
        Write::AppendCards { cards, .. } => 1 + cards.len(),
        // The card and the project's count of deletions.
        Write::DeleteCard { .. } => 2,
        // The head and its copy.
        Write::CreateHead(_) | Write::MoveHead { .. } => 2,
        Write::PutCard(_)
        | Write::SealBox { .. }
        | Write::CreateProject(_)
        | Write::UpdateProject(_)
        | Write::CreateToken(_)
        | Write::RevokeToken { .. }
        | Write::RememberAnswer(_)
        | Write::SealAudit { .. }
        | Write::NudgeHead { .. }
        | Write::Enqueue(_)
        | Write::UpdateInbox { .. }
        | Write::AddEdge(_)
        | Write::CreateStep(_)
        | Write::UpdateStep(_)
        | Write::OpenCall(_)
        | Write::UpdateCall(_)
        | Write::PutProfile { .. }
        | Write::PutResource { .. }
        | Write::PutAgent { .. }
        | Write::AddIdentityEdge(_)
        | Write::CreateBatch(_)
        | Write::BeginClose { .. }
        | Write::CloseBatch(_)
        | Write::AddBranch(_)
        | Write::MoveBranch { .. }
        | Write::EndBranch(_)
        | Write::AddSweep(_)
        | Write::EndSweep(_)
        | Write::AddGrant(_)
        | Write::Spend { .. }
        | Write::PutSession { .. }
        // The row that names its index entries, and as many as the source had.
        | Write::PutPassage(_)
        | Write::DropPassages { .. } => 1,
    }
}

type Res<T> = Result<T, StoreError>;

#[async_trait]
impl Store for Counting {
    async fn load(&self, realm: &Realm, keys: &Keys) -> Res<Snapshot> {
        self.inner.load(realm, keys).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let rows = rows_of(&commit);
        self.inner.commit(commit).await?;
        self.count(rows);
        Ok(())
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

    async fn close(&self) {
        self.inner.close().await;
    }
}

#[async_trait]
impl Turns for Counting {
    async fn claim(&self, query: &ClaimQuery, decide: DecideClaim) -> Result<Vec<ProjectId>, CommitError> {
        // The last decision for a project is the one that counts.
        let decided: Arc<Mutex<BTreeMap<ProjectId, u64>>> = Arc::default();
        let seen = Arc::clone(&decided);
        let spying: DecideClaim = Arc::new(move |project: &ProjectId, rows: Vec<Claimable>| {
            let commit = decide(project, rows);
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(project.clone(), rows_of(&commit));
            commit
        });
        let applied = self.inner.claim(query, spying).await?;
        let decided = decided.lock().unwrap_or_else(PoisonError::into_inner);
        applied.iter().for_each(|project| self.count(decided.get(project).copied().unwrap_or(0)));
        drop(decided);
        Ok(applied)
    }

    async fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Res<Vec<Watched>> {
        self.inner.due_heads(horizon, after, limit).await
    }

    async fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Res<Vec<Watched>> {
        self.inner.due_items(horizon, after, limit).await
    }

    async fn heads(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Res<Vec<Head>> {
        self.inner.heads(project, after, limit).await
    }

    async fn roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Res<Vec<Rostered>> {
        self.inner.roster(project, filter, before, limit).await
    }

    async fn head(&self, project: &ProjectId, agent: &AgentId) -> Res<Option<Head>> {
        self.inner.head(project, agent).await
    }

    async fn inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Res<Vec<InboxItem>> {
        self.inner.inbox(project, filter, before, limit).await
    }

    async fn turn(&self, project: &ProjectId, turn: TurnId) -> Res<Option<InboxItem>> {
        self.inner.turn(project, turn).await
    }

    async fn calls(&self, project: &ProjectId, turn: TurnId) -> Res<Vec<ToolCall>> {
        self.inner.calls(project, turn).await
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
impl Batches for Counting {
    async fn batch(&self, project: &ProjectId, batch: BatchId) -> Res<Option<Batch>> {
        self.inner.batch(project, batch).await
    }

    async fn batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Res<Vec<Batch>> {
        self.inner.batches(project, filter, before, limit).await
    }

    async fn branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Res<Vec<Branch>> {
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
        self.inner.standing(project, batch, due, quiet, limit).await
    }

    async fn running_batches(
        &self,
        after: Option<&(ProjectId, BatchId)>,
        limit: usize,
    ) -> Res<Vec<(ProjectId, BatchId)>> {
        self.inner.running_batches(after, limit).await
    }

    async fn sweeps(&self, after: Option<&(ProjectId, Sweep)>, limit: usize) -> Res<Vec<(ProjectId, Sweep)>> {
        self.inner.sweeps(after, limit).await
    }

    async fn open_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Res<Vec<TurnId>> {
        self.inner.open_children(project, parent, after, limit).await
    }

    async fn open_branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Res<Vec<(BranchKey, TurnId)>> {
        self.inner.open_branches(project, batch, from, limit).await
    }

    async fn granted(&self, project: &ProjectId, agent: &AgentId, boxes: &[BoxId]) -> Res<HashSet<BoxId>> {
        self.inner.granted(project, agent, boxes).await
    }

    async fn grants(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Res<Vec<BoxId>> {
        self.inner.grants(project, agent, after, limit).await
    }

    async fn spent(&self, project: &ProjectId, root: TurnId) -> Res<u32> {
        self.inner.spent(project, root).await
    }

    async fn open_turns(&self, project: &ProjectId, limit: u32) -> Res<u32> {
        self.inner.open_turns(project, limit).await
    }

    async fn open_turns_in_trace(
        &self,
        project: &ProjectId,
        trace_id: &str,
        limit: usize,
    ) -> Res<Vec<InboxItem>> {
        self.inner.open_turns_in_trace(project, trace_id, limit).await
    }
}

#[async_trait]
impl Sessions for Counting {
    async fn session(&self, project: &ProjectId, key: &SessionKey) -> Res<Option<Session>> {
        self.inner.session(project, key).await
    }

    async fn sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Res<Vec<Session>> {
        self.inner.sessions(project, namespace, after, limit).await
    }
}

#[async_trait]
impl Search for Counting {
    async fn search(&self, project: &ProjectId, query: &SearchQuery) -> Res<Vec<Hit>> {
        self.inner.search(project, query).await
    }

    async fn passages(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        after: Option<&(String, u32)>,
        limit: usize,
    ) -> Res<Vec<Passage>> {
        self.inner.passages(project, shelf, after, limit).await
    }
}

#[async_trait]
impl Catalog for Counting {
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
