//! Every case of the contract on PostgreSQL.

use crate::scratch::Scratch;
use cardwire_store::Store;
use std::sync::Arc;

async fn fresh() -> (Arc<dyn Store>, Scratch) {
    let scratch = Scratch::new().await;
    (Arc::new(scratch.open().await), scratch)
}

/// Deletes the few rows that a case leaves. Creating another database would take longer.
async fn empty(scratch: &Scratch) {
    let tables = "SELECT format('DELETE FROM %I', tablename) FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'schema_migrations'";
    let statements = scratch.column(tables).await.join("; ");
    scratch.execute(&statements).await;
}

cardwire_testkit::conformance_tests!(fresh(), empty);
