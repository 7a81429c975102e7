//! Read models: what people and programs ask for. Every read is scoped by its project or realm.

use crate::{Reach, RowFilter, StoreError};
use async_trait::async_trait;
use cardwire_model::{
    AgentId, AuditRow, BatchId, BoxHead, BoxId, Card, CardId, Entry, Event, Generation, Hash256, NewEvent,
    Project, ProjectId, Realm, Token, TokenId, TurnId,
};

/// A box head together with what tells whether cached cards are still good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxAt {
    /// The head.
    pub head: BoxHead,
    /// The project's count of deleted cards, read in the same moment.
    pub deletions: u64,
}

/// An entry with its card; `None` for segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HydratedEntry {
    /// The entry.
    pub entry: Entry,
    /// The card, deleted or not, when the entry is one.
    pub card: Option<Card>,
}

/// Which events a reader wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only those of this agent.
    pub agent_id: Option<AgentId>,
    /// Only those of this turn.
    pub turn_id: Option<TurnId>,
    /// Only those of this batch.
    pub batch_id: Option<BatchId>,
    /// Only those of this trace.
    pub trace_id: Option<String>,
}

impl EventFilter {
    /// Whether every part holds.
    pub fn takes(&self, event: &NewEvent) -> bool {
        fn passes<T: PartialEq>(part: &Option<T>, value: &Option<T>) -> bool {
            part.is_none() || part == value
        }
        passes(&self.agent_id, &event.agent_id)
            && passes(&self.turn_id, &event.turn_id)
            && passes(&self.batch_id, &event.batch_id)
            && passes(&self.trace_id, &event.trace_id)
    }
}

/// What a backend says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// `reference`, `sqlite` or `postgres`.
    pub backend: &'static str,
    /// The server's or library's version.
    pub version: String,
    /// Number of the newest migration.
    pub schema: u32,
    /// Events that have no position yet.
    pub unnumbered_events: u64,
    /// Audit rows that are not sealed yet.
    pub unsealed_audit: u64,
    /// How far it was and is, where a mark outside the database tells.
    pub reach: Option<Reach>,
}

/// Ids of cards in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardIds {
    /// Those that can be read; none at the end.
    pub ids: Vec<CardId>,
    /// Cards on the way whose id cannot be read.
    pub unreadable: u64,
}

/// Reads of facts, resources and logs.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// A box as it is now.
    async fn box_head(&self, project: &ProjectId, box_id: BoxId) -> Result<Option<BoxAt>, StoreError>;

    /// Entries of one generation in order, from the entry with number `from` on.
    async fn box_entries(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<Entry>, StoreError>;

    /// The same with cards.
    async fn box_cards(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<HydratedEntry>, StoreError>;

    /// The cards that exist, deleted or not, in no particular order, each once.
    async fn cards(&self, project: &ProjectId, ids: &[CardId]) -> Result<Vec<Card>, StoreError>;

    /// Ids of cards in order, after `after`, and nothing else of the cards, so that one that cannot be read hides no
    /// other.
    async fn card_ids(
        &self,
        project: &ProjectId,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<CardIds, StoreError>;

    /// Cards by id, after `after`: for export.
    async fn scan_cards(
        &self,
        project: &ProjectId,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<Card>, StoreError>;

    /// Box heads by id, after `after`.
    async fn scan_boxes(
        &self,
        project: &ProjectId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>, StoreError>;

    /// A project, deleted or not.
    async fn project(&self, project: &ProjectId) -> Result<Option<Project>, StoreError>;

    /// Projects by name, after `after`, deleted ones too.
    async fn projects(&self, after: Option<&ProjectId>, limit: usize) -> Result<Vec<Project>, StoreError>;

    /// The token with this secret hash, in any realm.
    async fn token_by_hash(&self, hash: Hash256) -> Result<Option<Token>, StoreError>;

    /// Those of the tokens with these secret hashes that are there, in any realm and in no particular order.
    async fn tokens_by_hashes(&self, hashes: &[Hash256]) -> Result<Vec<Token>, StoreError>;

    /// The token with this id, in any realm.
    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError>;

    /// Tokens by id, after `after`; of one realm, or of all when `realm` is `None`.
    async fn tokens(
        &self,
        realm: Option<&Realm>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, StoreError>;

    /// Events after a position, in order. Logs are read apart from everything else: however many readers they have, commits
    /// and the reads that these rely on do not wait for them.
    async fn events(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError>;

    /// The last position of a project's log; 0 when it is empty.
    async fn last_position(&self, project: &ProjectId) -> Result<u64, StoreError>;

    /// The last position of the log of each of these projects, in one read and in no particular order. Projects that are
    /// deleted or not there are left out.
    async fn last_positions(&self, projects: &[ProjectId]) -> Result<Vec<(ProjectId, u64)>, StoreError>;

    /// Audit rows by `seq`, newest first, before `before`.
    async fn audit(
        &self,
        realm: &Realm,
        filter: &RowFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>, StoreError>;

    /// Sealed audit rows in chain order, after a place.
    async fn audit_chain(&self, realm: &Realm, after: u64, limit: usize)
    -> Result<Vec<AuditRow>, StoreError>;

    /// Whether the store answers, and what it is.
    async fn health(&self) -> Result<Health, StoreError>;
}
