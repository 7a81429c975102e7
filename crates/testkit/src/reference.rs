//! [`ReferenceStore`]: the executable model of the storage contract, in memory.
//!
//! It is meant to be read next to the contract and to be obviously right, not to be fast: ordered maps behind one
//! mutex, and every change noted so that a refused commit is undone row by row. Must not know SQL or a backend.
//! Invariant: a commit is applied whole or not at all; events get positions 1, 2, 3, … per project as they are
//! committed.

mod apply;
mod batches;
mod catalog;
mod claim;
mod damage;
mod load;
mod rows;
mod search;
mod sessions;
mod state;
mod survey;
mod table;
mod turns;

pub use apply::{Cause, Refusal};
pub use state::State;

use async_trait::async_trait;
use cardwire_model::{Commit, Keys, Realm, Snapshot, Timestamp};
use cardwire_store::{CommitError, Store, StoreError, Unsealed};
use std::sync::{Mutex, PoisonError};

/// A store in memory; dropped, it is gone.
#[derive(Debug, Default)]
pub struct ReferenceStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: State,
    closed: bool,
    /// The next claim is applied and not answered.
    loses_answer: bool,
}

impl ReferenceStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the rows, or changes them, unless the store is closed.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> Result<T, StoreError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.closed {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        Ok(work(&mut inner.state))
    }
}

#[async_trait]
impl Store for ReferenceStore {
    async fn load(&self, realm: &Realm, keys: &Keys) -> Result<Snapshot, StoreError> {
        self.with(|state| state.load(realm, keys))
    }

    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        match self.with(|state| state.apply(&commit))? {
            Ok(()) => Ok(()),
            // Backends stop at the first conflict, so the first one is the answer.
            Err(refusals) => Err(refusals[0].conflict.into()),
        }
    }

    async fn number_events(&self) -> Result<u64, StoreError> {
        // Events are numbered as they are committed.
        self.with(|_| 0)
    }

    async fn unsealed_audit(&self, limit: usize) -> Result<Vec<Unsealed>, StoreError> {
        self.with(|state| state.all_unsealed(limit))
    }

    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.with(|state| state.forget_answers(before))
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.with(|_| ())
    }

    async fn close(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
    }
}
