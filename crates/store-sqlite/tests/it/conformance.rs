//! Every case of the contract on SQLite.

use cardwire_store::Store;
use std::sync::Arc;
use tempfile::TempDir;

async fn fresh() -> (Arc<dyn Store>, TempDir) {
    let (store, directory) = crate::fresh();
    (Arc::new(store), directory)
}

cardwire_testkit::conformance_tests!(fresh());
