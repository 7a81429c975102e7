//! The embedded backend under the suite of every backend, against the reference store, and over a restart.

mod conformance;
mod differential;
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
