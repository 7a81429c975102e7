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

/// Much that is to be sealed is sealed round by round, with time in between for those who write.
#[tokio::test(start_paused = true)]
async fn a_backlog_is_sealed_in_rounds_with_pauses() {
    let store = Arc::new(ReferenceStore::new());
    let mut commit = Commit::new(Realm::System);
    let rows = 3 * limits::SEAL_ROWS + 1;
    commit.audit.extend((0..rows).map(|number| audit(&format!("subject-{number}"))));
    store.commit(commit).await.unwrap();
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
