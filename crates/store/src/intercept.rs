//! A store that forwards every call to another store and lets an [`Intercept`] act around it.
//!
//! The kernel intercepts calls to end those that take too long, the simulation to inject faults and wrong answers, and the
//! benchmarks intercept commits to count rows. When the storage contract gains a read, this module gains one line, and no
//! interceptor changes.

use crate::*;
use async_trait::async_trait;
use cardwire_model::*;
use std::{collections::HashSet, pin::Pin, sync::Arc};

/// A call of a store under way.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What happens around the calls of a store. By default, nothing.
#[async_trait]
pub trait Intercept: Send + Sync + 'static {
    /// Runs a read.
    fn read<T: Send>(&self, read: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
        read
    }

    /// Runs work of the background: numbering, sealing, forgetting.
    fn tend<T: Send>(&self, work: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
        work
    }

    /// Applies a commit.
    async fn commit(&self, inner: &Arc<dyn Store>, commit: Commit) -> Result<(), CommitError> {
        inner.commit(commit).await
    }

    /// Claims turns.
    async fn claim(
        &self,
        inner: &Arc<dyn Store>,
        query: &ClaimQuery,
        decide: DecideClaim,
    ) -> Result<Vec<ProjectId>, CommitError> {
        inner.claim(query, decide).await
    }

    /// Closes the store.
    async fn close(&self, inner: &Arc<dyn Store>) {
        inner.close().await;
    }

    /// Changes what [`Store::load`] answers.
    fn loaded(&self, _keys: &Keys, snapshot: Snapshot) -> Snapshot {
        snapshot
    }

    /// Changes what [`Turns::calls`] answers.
    fn calls_read(&self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        calls
    }

    /// Changes what [`Batches::standing`] answers.
    fn standing_read(&self, standing: Option<Standing>) -> Option<Standing> {
        standing
    }

    /// Changes what [`Batches::open_children`] answers.
    fn children_read(&self, children: Vec<TurnId>) -> Vec<TurnId> {
        children
    }

    /// Changes what [`Batches::open_branches`] answers.
    fn branches_read(&self, branches: Vec<(BranchKey, TurnId)>) -> Vec<(BranchKey, TurnId)> {
        branches
    }
}

/// A store behind an [`Intercept`].
pub struct Intercepted<I> {
    inner: Arc<dyn Store>,
    intercept: I,
}

impl<I: Intercept> Intercepted<I> {
    /// Puts an interceptor in front of a store.
    pub fn new(inner: Arc<dyn Store>, intercept: I) -> Self {
        Self { inner, intercept }
    }

    /// The interceptor.
    pub const fn intercept(&self) -> &I {
        &self.intercept
    }
}

/// Passes the reads of one trait on; `then` names the method of [`Intercept`] that may change the answer.
macro_rules! reads {
    ($trait:ident { $($other:item)* }
        $(fn $read:ident($($arg:ident: $type:ty),*) -> $answer:ty $(, then $then:ident)?;)*) => {
        #[async_trait]
        impl<I: Intercept> $trait for Intercepted<I> {
            $($other)*
            $(async fn $read(&self, $($arg: $type),*) -> Result<$answer, StoreError> {
                let answer = self.intercept.read(self.inner.$read($($arg),*)).await?;
                $(let answer = self.intercept.$then(answer);)?
                Ok(answer)
            })*
        }
    };
}

#[async_trait]
impl<I: Intercept> Store for Intercepted<I> {
    async fn load(&self, realm: &Realm, keys: &Keys) -> Result<Snapshot, StoreError> {
        let snapshot = self.intercept.read(self.inner.load(realm, keys)).await?;
        Ok(self.intercept.loaded(keys, snapshot))
    }

    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.intercept.commit(&self.inner, commit).await
    }

    async fn number_events(&self) -> Result<u64, StoreError> {
        self.intercept.tend(self.inner.number_events()).await
    }

    async fn unsealed_audit(&self, limit: usize) -> Result<Vec<Unsealed>, StoreError> {
        self.intercept.tend(self.inner.unsealed_audit(limit)).await
    }

    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.intercept.tend(self.inner.forget_answers(before)).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.intercept.read(self.inner.ready()).await
    }

    async fn close(&self) {
        self.intercept.close(&self.inner).await;
    }

    fn distrust(&self) {
        self.inner.distrust();
    }
}

reads! {
    Turns {
        async fn claim(
            &self,
            query: &ClaimQuery,
            decide: DecideClaim,
        ) -> Result<Vec<ProjectId>, CommitError> {
            self.intercept.claim(&self.inner, query, decide).await
        }
    }
    fn held(query: &HeldQuery, after: u64, limit: usize) -> Vec<HeldRow>;
    fn due_heads(horizon: &Horizon, after: Option<&(ProjectId, AgentId)>, limit: usize) -> Vec<Watched>;
    fn due_items(horizon: &Horizon, after: Option<&(ProjectId, InboxId)>, limit: usize) -> Vec<Watched>;
    fn heads(project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Vec<Head>;
    fn roster(project: &ProjectId, filter: &RosterFilter, before: Option<&(Timestamp, AgentId)>, limit: usize) -> Vec<Rostered>;
    fn head(project: &ProjectId, agent: &AgentId) -> Option<Head>;
    fn inbox(project: &ProjectId, filter: &RowFilter, before: Option<InboxId>, limit: usize) -> Vec<InboxItem>;
    fn turn(project: &ProjectId, turn: TurnId) -> Option<InboxItem>;
    fn calls(project: &ProjectId, turn: TurnId) -> Vec<ToolCall>, then calls_read;
    fn steps(project: &ProjectId, filter: &RowFilter, before: Option<&(Timestamp, StepId)>, limit: usize) -> Vec<Step>;
    fn step(project: &ProjectId, step: &StepId) -> Option<Step>;
    fn edges(project: &ProjectId, filter: &RowFilter, before: Option<EdgeId>, limit: usize) -> Vec<Edge>;
    fn identity_edges(project: &ProjectId, filter: &RowFilter, before: Option<EdgeId>, limit: usize) -> Vec<IdentityEdge>;
    fn agents(project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Vec<Agent>;
    fn agent(project: &ProjectId, agent: &AgentId) -> Option<Agent>;
    fn profiles(project: &ProjectId, after: Option<&ProfileName>, limit: usize) -> Vec<Profile>;
    fn resources(project: &ProjectId, kind: ResourceKind, after: Option<&ResourceName>, limit: usize) -> Vec<Resource>;
}

reads! {
    Batches {}
    fn batch(project: &ProjectId, batch: BatchId) -> Option<Batch>;
    fn batches(project: &ProjectId, filter: &BatchFilter, before: Option<BatchId>, limit: usize) -> Vec<Batch>;
    fn branches(project: &ProjectId, batch: BatchId, from: u32, limit: usize) -> Vec<Branch>;
    fn standing(project: &ProjectId, batch: BatchId, due: Timestamp, quiet: Timestamp, limit: usize) -> Option<Standing>, then standing_read;
    fn running_batches(after: Option<&(ProjectId, BatchId)>, limit: usize) -> Vec<(ProjectId, BatchId)>;
    fn sweeps(after: Option<&(ProjectId, Sweep)>, limit: usize) -> Vec<(ProjectId, Sweep)>;
    fn open_children(project: &ProjectId, parent: TurnId, after: Option<TurnId>, limit: usize) -> Vec<TurnId>, then children_read;
    fn open_branches(project: &ProjectId, batch: BatchId, from: u32, limit: usize) -> Vec<(BranchKey, TurnId)>, then branches_read;
    fn granted(project: &ProjectId, agent: &AgentId, boxes: &[BoxId]) -> HashSet<BoxId>;
    fn grants(project: &ProjectId, agent: &AgentId, after: Option<BoxId>, limit: usize) -> Vec<BoxId>;
    fn spent(project: &ProjectId, root: TurnId) -> u32;
    fn open_turns(project: &ProjectId, limit: u32) -> u32;
    fn open_turns_in_trace(project: &ProjectId, trace_id: &str, limit: usize) -> Vec<InboxItem>;
}

reads! {
    Sessions {}
    fn session(project: &ProjectId, key: &SessionKey) -> Option<Session>;
    fn sessions(project: &ProjectId, namespace: &Namespace, after: Option<&SessionId>, limit: usize) -> Vec<Session>;
}

reads! {
    Search {}
    fn search(project: &ProjectId, query: &SearchQuery) -> Vec<Hit>;
    fn passages(project: &ProjectId, shelf: &Shelf, after: Option<&(String, u32)>, limit: usize) -> Vec<Passage>;
}

reads! {
    Survey {}
    fn runs(project: &ProjectId, before: Option<InboxId>, limit: usize) -> Vec<InboxItem>;
    fn sent_by(project: &ProjectId, turns: &[TurnId], limit: usize) -> Vec<InboxItem>;
    fn steps_of(project: &ProjectId, turns: &[TurnId], limit: usize) -> Vec<Step>;
    fn latest_card_ids(project: &ProjectId, before: Option<CardId>, limit: usize) -> Vec<CardId>;
    fn latest_boxes(project: &ProjectId, before: Option<BoxId>, limit: usize) -> Vec<BoxHead>;
    fn holders(project: &ProjectId, card: CardId, after: Option<EntryKey>, limit: usize) -> Holders;
}

reads! {
    Catalog {}
    fn box_head(project: &ProjectId, box_id: BoxId) -> Option<BoxAt>;
    fn box_entries(project: &ProjectId, box_id: BoxId, generation: Generation, from: u32) -> Vec<Entry>;
    fn box_cards(project: &ProjectId, box_id: BoxId, generation: Generation, from: u32) -> Vec<HydratedEntry>;
    fn cards(project: &ProjectId, ids: &[CardId]) -> Vec<Card>;
    fn card_ids(project: &ProjectId, after: Option<CardId>, limit: usize) -> CardIds;
    fn scan_cards(project: &ProjectId, after: Option<CardId>, limit: usize) -> Vec<Card>;
    fn scan_boxes(project: &ProjectId, after: Option<BoxId>, limit: usize) -> Vec<BoxHead>;
    fn project(project: &ProjectId) -> Option<Project>;
    fn projects(after: Option<&ProjectId>, limit: usize) -> Vec<Project>;
    fn token_by_hash(hash: Hash256) -> Option<Token>;
    fn tokens_by_hashes(hashes: &[Hash256]) -> Vec<Token>;
    fn token_by_id(id: TokenId) -> Option<Token>;
    fn tokens(realm: Option<&Realm>, after: Option<TokenId>, limit: usize) -> Vec<Token>;
    fn events(project: &ProjectId, after: u64, filter: &EventFilter, limit: usize) -> Vec<Event>;
    fn last_position(project: &ProjectId) -> u64;
    fn last_positions(projects: &[ProjectId]) -> Vec<(ProjectId, u64)>;
    fn audit(realm: &Realm, filter: &RowFilter, before: Option<u64>, limit: usize) -> Vec<AuditRow>;
    fn audit_chain(realm: &Realm, after: u64, limit: usize) -> Vec<AuditRow>;
    fn health() -> Health;
}
