//! The storage contract: what a backend must offer, and nothing about how.
//!
//! [`Store`] loads the rows a decision needs and applies a [`Commit`] atomically; [`Catalog`] holds the reads that
//! people and programs ask for. A backend is row codecs, one `apply` per write and a few selects; it decides
//! nothing. This crate must not know SQL.
//! Invariant 12: a commit is applied whole or not at all, and an `Ok` means that it is durable.

mod batches;
mod catalog;
mod error;
mod intercept;
mod outage;
mod reach;
mod sessions;
mod survey;
mod turns;

pub use batches::{BatchFilter, Batches, Standing};
pub use catalog::{BoxAt, CardIds, Catalog, EventFilter, Health, HydratedEntry};
pub use error::{CommitError, StoreError};
pub use intercept::{Asking, Intercept, Intercepted};
pub use outage::Outage;
pub use reach::{LogKind, Reach};
pub use sessions::{Hit, Search, SearchQuery, Sessions};
pub use survey::{EntryKey, Holders, Survey};
pub use turns::{
    ClaimQuery, Claimable, DecideClaim, HeldQuery, HeldRow, Horizon, RosterFilter, Rostered, RowFilter,
    Turns, Watched,
};

use async_trait::async_trait;
use cardwire_model::{AuditRow, ChainHead, Commit, Keys, Realm, Snapshot, Timestamp};

/// What the kernel needs of a backend.
#[async_trait]
pub trait Store: Catalog + Turns + Batches + Sessions + Search + Survey {
    /// Loads the rows named by `keys` in one consistent read.
    async fn load(&self, realm: &Realm, keys: &Keys) -> Result<Snapshot, StoreError>;

    /// Applies a commit: checks every expectation, then writes everything, durably, or nothing.
    ///
    /// Expectations and the conflicts that writes themselves can find (an id that is taken, an entry that is
    /// there) are answered with [`CommitError::Conflict`].
    async fn commit(&self, commit: Commit) -> Result<(), CommitError>;

    /// Gives positions to committed events that have none yet, and answers how many it numbered.
    ///
    /// Backends that number events while they commit have nothing to do here. Safe to call from many processes
    /// at once. Invariant 13 (NF-08): once a reader was given position p, no event at or below p appears later.
    async fn number_events(&self) -> Result<u64, StoreError>;

    /// Committed audit rows that are not in their realm's chain yet: per realm the end of the chain and at most
    /// `limit` rows in insertion order.
    async fn unsealed_audit(&self, limit: usize) -> Result<Vec<Unsealed>, StoreError>;

    /// Forgets remembered answers given before a moment, and answers how many.
    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Somebody gave up waiting for a call: what it used (a connection, say) is not used again.
    fn distrust(&self) {}

    /// Whether a write would go through now; the error says why it would not. Answers within seconds whatever the state
    /// of the backend is, and writes nothing unless the last write has failed.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Finishes what is under way and releases files and connections. Later calls answer `Unavailable`.
    async fn close(&self);
}

/// Work for the sealer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsealed {
    /// Whose rows.
    pub realm: Realm,
    /// Where the chain ends now.
    pub head: ChainHead,
    /// The rows to seal, by `seq`.
    pub rows: Vec<AuditRow>,
}
