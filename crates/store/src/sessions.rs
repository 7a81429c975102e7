//! Reads of sessions, and full-text search.

use crate::StoreError;
use async_trait::async_trait;
use cardwire_model::{CardId, Hash256, Namespace, Passage, ProjectId, Session, SessionId, SessionKey, Shelf};

/// Sessions.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// One session, deleted or not.
    async fn session(&self, project: &ProjectId, key: &SessionKey) -> Result<Option<Session>, StoreError>;

    /// Sessions of a namespace by name, after `after`, deleted ones too.
    async fn sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError>;
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Where.
    pub shelf: Shelf,
    /// Passages with any of these terms; see [`Passage::terms`]. None finds nothing.
    pub terms: Vec<String>,
    /// At most so many.
    pub limit: usize,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Of which source.
    pub source: String,
    /// Which part of it.
    pub part: u32,
    /// The card to show.
    pub card_id: CardId,
    /// Of the text that is indexed.
    pub content_hash: Hash256,
    /// How well it fits: more is better. Only the order means anything; backends count differently.
    pub score: f64,
}

/// Full-text search over passages.
#[async_trait]
pub trait Search: Send + Sync {
    /// The passages that fit best, best first; equal ones by source and part.
    async fn search(&self, project: &ProjectId, query: &SearchQuery) -> Result<Vec<Hit>, StoreError>;

    /// Passages of a shelf by source and part, after a key.
    async fn passages(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        after: Option<&(String, u32)>,
        limit: usize,
    ) -> Result<Vec<Passage>, StoreError>;
}
