//! How a store fails. The kind says what the caller may conclude about what was written.

use crate::Outage;
use cardwire_model::{CardId, Conflict};
use thiserror::Error;

/// A store could not do its work.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    /// Not reachable, closed or out of connections. Nothing was written.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// No write goes through now, for a reason that a person can do something about. Nothing was written.
    #[error("no write goes through: {0}")]
    CannotWrite(Outage),
    /// The connection was lost while a commit was under way: it may or may not have been applied.
    #[error("the outcome of the commit is unknown: {0}")]
    Uncertain(String),
    /// A stored row cannot be read back.
    #[error("a stored row is damaged: {0}")]
    Damaged(String),
    /// These cards cannot be read back, or are not what was written (NF-01).
    #[error("damaged cards: {}", listed(.0))]
    DamagedCards(Vec<CardId>),
    /// A fault of ours, or a schema that is not the expected one. Nothing was written.
    #[error("the store failed: {0}")]
    Internal(String),
}

/// A commit was not applied.
#[derive(Debug, Clone, Error)]
pub enum CommitError {
    /// An expectation did not hold: decide again.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn listed(cards: &[CardId]) -> String {
    cards.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
