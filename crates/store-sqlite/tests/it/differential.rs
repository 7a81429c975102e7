//! Random commits on SQLite and on the reference store: the same outcomes, the same rows (NF-01).
//!
//! `CARDWIRE_TEST_SEED=<seed>` repeats the run whose seed a failure printed.

use cardwire_store::Store;
use cardwire_testkit::{ReferenceStore, differential, differential_in_groups, scaled, test_seed};

async fn one_after_the_other(seed: u64, commits: u64) {
    let (store, _directory) = crate::fresh();
    differential(&ReferenceStore::new(), &store, seed, commits as usize).await.assert_complete();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_a_fixed_seed_end_in_the_rows_of_the_reference_store() {
    one_after_the_other(20_260_101, scaled(3_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_a_new_seed_end_in_the_rows_of_the_reference_store() {
    let seed = test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    one_after_the_other(seed, scaled(2_000)).await;
}

/// The writer applies what is waiting in one transaction: a commit that is refused must not take its neighbours
/// along, nor leave something in them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_share_a_transaction_each_get_their_own_outcome() {
    for seed in [7, test_seed()] {
        println!("CARDWIRE_TEST_SEED={seed}");
        let (store, _directory) = crate::fresh();
        differential_in_groups(&ReferenceStore::new(), &store, seed, scaled(2_000) as usize, 50)
            .await
            .assert_complete();
        store.close().await;
    }
}
