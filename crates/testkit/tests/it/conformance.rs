//! Every case of the contract on the reference store.

use cardwire_store::Store;
use cardwire_testkit::ReferenceStore;
use std::sync::Arc;

async fn fresh() -> (Arc<dyn Store>, ()) {
    (Arc::new(ReferenceStore::new()), ())
}

cardwire_testkit::conformance_tests!(fresh());
