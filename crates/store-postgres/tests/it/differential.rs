//! Random commits on PostgreSQL and on the reference store: the same outcomes, the same rows (NF-01).
//!
//! `CARDWIRE_TEST_SEED=<seed>` repeats the run whose seed a failure printed.

use crate::scratch::Scratch;
use cardwire_store::Store;
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{ReferenceStore, differential, generate::Coverage, scaled, test_seed};

async fn one_after_the_other(seed: u64, commits: u64, statement_rows: Option<usize>) -> Coverage {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    config.statement_rows = statement_rows.unwrap_or(config.statement_rows);
    let store = PostgresStore::open(config).await.unwrap();
    let coverage = differential(&ReferenceStore::new(), &store, seed, commits as usize).await;
    store.close().await;
    coverage
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_a_fixed_seed_end_in_the_rows_of_the_reference_store() {
    one_after_the_other(20_260_101, scaled(2_000), None).await.assert_complete();
}

/// A commit that is cut wherever it can be does what it does in one piece.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_in_many_statements_end_in_the_rows_of_the_reference_store() {
    let seed = test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    one_after_the_other(seed, scaled(200), Some(1)).await;
    one_after_the_other(seed + 1, scaled(200), Some(3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_a_new_seed_end_in_the_rows_of_the_reference_store() {
    let seed = test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    one_after_the_other(seed, scaled(200), None).await;
}
