//! The embedded backend: SQLite in one file, one writer thread with group commit, a pool of readers.
//!
//! This crate must not decide anything about cards, boxes, tokens or turns: it encodes rows, applies the writes of a
//! commit in order and answers selects.
//! Invariant: a commit is answered `Ok` only after the transaction that holds it was synced to disk
//! (`journal_mode=WAL`, `synchronous=FULL`).

mod apply;
mod batches;
mod catalog;
mod claim;
mod codec;
mod error;
mod files;
mod load;
mod lock;
mod mark;
mod migrate;
mod open;
mod pulse;
mod readers;
mod select;
mod sessions;
mod shelf;
mod sql;
mod store;
mod survey;
mod turns;
mod write_back;
mod writer;

pub use lock::Holder;
pub use open::{Loss, OpenError};
pub use store::SqliteStore;
