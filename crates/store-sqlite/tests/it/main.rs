//! The embedded backend under the suite of every backend, against the reference store, over a restart, and where it
//! is alone: claims on the writer thread, plans, and what the tools of the database can do to it.

// A failed expectation is what a test is for, also in the functions that tests share.
#![allow(clippy::unwrap_used)]

mod claims;
mod conformance;
mod damage;
mod differential;
mod loss;
mod outages;
mod passages;
mod plans;
mod restart;

use cardwire_store_sqlite::SqliteStore;
use tempfile::TempDir;

/// A store in a directory of its own, which lasts as long as the second value.
fn fresh() -> (SqliteStore, TempDir) {
    let directory = TempDir::new().expect("a temporary directory");
    (open(&directory), directory)
}

fn open(directory: &TempDir) -> SqliteStore {
    SqliteStore::open(&directory.path().join("cardwire.db")).expect("a database that opens")
}

/// A connection beside the store's own, as the tools of the database have.
fn connect(directory: &TempDir) -> rusqlite::Connection {
    rusqlite::Connection::open(directory.path().join("cardwire.db")).expect("a second connection")
}
