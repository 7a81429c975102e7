//! Sealing beside other work (SEC-05, docs/decisions/0036-sealing-gives-way.md).

use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_model::{Commit, Realm, limits};
use cardwire_store::Store;
use cardwire_testkit::{ReferenceStore, fixtures::audit};
use std::{sync::Arc, time::Duration};

async fn unsealed(store: &ReferenceStore) -> usize {
    let found = store.unsealed_audit(usize::MAX).await.unwrap();
    found.iter().map(|realm| realm.rows.len()).sum()
}

/// A store with so many rows to seal.
async fn backlog(rows: usize) -> Arc<ReferenceStore> {
    let store = Arc::new(ReferenceStore::new());
    let mut commit = Commit::new(Realm::System);
    commit.audit.extend((0..rows).map(|number| audit(&format!("subject-{number}"))));
    store.commit(commit).await.unwrap();
    store
}

/// Much that is to be sealed is sealed round by round, with time in between for those who write.
#[tokio::test(start_paused = true)]
async fn a_backlog_is_sealed_in_rounds_with_pauses() {
    let rows = 3 * limits::SEAL_ROWS + 1;
    let store = backlog(rows).await;
    let kernel = Kernel::start(KernelConfig::new(Arc::clone(&store) as _));
    let (mut left, mut seen) = (rows, vec![]);
    while left > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let now = unsealed(&store).await;
        if now < left {
            seen.push((now, tokio::time::Instant::now()));
            left = now;
        }
    }
    let lefts: Vec<_> = seen.iter().map(|(left, _)| *left).collect();
    assert_eq!(lefts, [2 * limits::SEAL_ROWS + 1, limits::SEAL_ROWS + 1, 1, 0]);
    for pair in seen.windows(2) {
        assert!(pair[1].1 - pair[0].1 >= Duration::from_millis(20), "{seen:?}");
    }
    kernel.tasks().shutdown().await;
}

/// Nobody writes so fast that what is left to seal grows for ever: after a hundred pauses there are none.
#[tokio::test(start_paused = true)]
async fn pauses_between_rounds_of_sealing_come_to_an_end() {
    let store = backlog(110 * limits::SEAL_ROWS).await;
    let kernel = Kernel::start(KernelConfig::new(Arc::clone(&store) as _));
    // The first look and ninety pauses.
    tokio::time::sleep(Duration::from_millis(500 + 90 * 20 + 10)).await;
    assert_eq!(unsealed(&store).await, 19 * limits::SEAL_ROWS);
    // Ten more.
    tokio::time::sleep(Duration::from_millis(10 * 20)).await;
    assert_eq!(unsealed(&store).await, 0);
    kernel.tasks().shutdown().await;
}
