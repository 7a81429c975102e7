//! Random commits on PostgreSQL and on the reference store: the same outcomes, the same rows (NF-01).
//!
//! `CARDWIRE_TEST_SEED=<seed>` repeats the run whose seed a failure printed.

use crate::scratch::Scratch;
use cardwire_store::Store;
use cardwire_testkit::{ReferenceStore, differential, test_seed};

async fn one_after_the_other(seed: u64, commits: usize) {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    differential(&ReferenceStore::new(), &store, seed, commits).await.assert_complete();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_commits_end_in_the_rows_of_the_reference_store() {
    one_after_the_other(20_260_101, 10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_a_new_seed_end_in_the_rows_of_the_reference_store() {
    let seed = test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    one_after_the_other(seed, 2_000).await;
}
