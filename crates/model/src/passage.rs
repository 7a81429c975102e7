//! Passages: what full-text search finds. A passage is an index row for (a part of) a card; the card is the fact, and a
//! passage can be dropped and made again (KN, EX).

use crate::{CardId, Hash256, Namespace, Timestamp, inbox::names};
use std::sync::Arc;

names! {
    /// What is searched.
    PassageKind {
        /// Documents that were taken in.
        Knowledge = "knowledge",
        /// What came of earlier sessions.
        Experience = "experience",
    }
}

/// Where to search: passages of different shelves never meet (KN-04, EX-03).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shelf {
    /// What is searched.
    pub kind: PassageKind,
    /// Whose.
    pub namespace: Namespace,
}

/// An index row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands.
    pub shelf: Shelf,
    /// The document or session it is of.
    pub source: String,
    /// Which part of that; unique within its source.
    pub part: u32,
    /// The card to show when it is found.
    pub card_id: CardId,
    /// Of the text that is indexed: equal texts of documents are shown once.
    pub content_hash: Hash256,
    /// The terms it is found by, in the order of the text and as often as they occur: letters and digits only, lower
    /// case, separated by single spaces.
    pub terms: String,
    /// Its place among meanings, when an embedding provider is configured.
    pub embedding: Option<Embedding>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A vector of 32-bit floats, as little-endian bytes so that it is kept and compared exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedding(Arc<[u8]>);

impl Embedding {
    /// From numbers.
    pub fn from_floats(floats: &[f32]) -> Self {
        Self(floats.iter().flat_map(|float| float.to_le_bytes()).collect())
    }

    /// From stored bytes.
    pub fn from_stored(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The stored bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The numbers.
    pub fn floats(&self) -> impl Iterator<Item = f32> + '_ {
        self.0.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }
}
