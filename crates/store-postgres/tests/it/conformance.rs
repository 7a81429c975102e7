//! Every case of the contract on PostgreSQL.

use crate::scratch::Scratch;
use cardwire_store::Store;
use std::sync::Arc;

async fn fresh() -> (Arc<dyn Store>, Scratch) {
    let scratch = Scratch::new().await;
    (Arc::new(scratch.open().await), scratch)
}

cardwire_testkit::conformance_tests!(fresh());
