//! Claims that wait: they hear a doorbell, they find what no doorbell told them of, and they end.

use crate::desk::{Desk, caller};
use std::{sync::Arc, time::Duration};

/// API-10: a worker that waits is given the turn when it comes.
#[tokio::test(start_paused = true)]
async fn a_waiting_claim_is_woken_by_a_dispatch() {
    let desk = Desk::new(&["a"]).await;
    let begun = tokio::time::Instant::now();
    let (request, by) = (Desk::request(1, Duration::from_secs(20)), caller());
    let waiting = desk.kernel.claim(&by, &request);
    let (leases, receipt) = tokio::join!(waiting, async {
        tokio::task::yield_now().await;
        desk.dispatch("a").await
    });
    assert_eq!(leases.unwrap()[0].turn_id, receipt.turn_id);
    // On paused time only the dispatch can have woken it.
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// NF-07: work that another process took in, with no bus to tell of it, is found by looking.
#[tokio::test(start_paused = true)]
async fn a_waiting_claim_finds_what_nobody_rang_for() {
    let desk = Desk::new(&["a"]).await;
    let other =
        cardwire_kernel::Kernel::idle(cardwire_kernel::KernelConfig::new(Arc::clone(&desk.store) as _));
    let (request, by) = (Desk::request(1, Duration::from_secs(20)), caller());
    let waiting = other.claim(&by, &request);
    let (leases, receipt) = tokio::join!(waiting, async {
        tokio::task::yield_now().await;
        desk.dispatch("a").await
    });
    assert_eq!(leases.unwrap()[0].turn_id, receipt.turn_id);
}

/// A claim for which nothing comes ends in time, and with its kernel.
#[tokio::test(start_paused = true)]
async fn a_waiting_claim_ends() {
    let desk = Desk::new(&["a"]).await;
    let begun = tokio::time::Instant::now();
    let request = Desk::request(1, Duration::from_secs(20));
    assert!(desk.kernel.claim(&caller(), &request).await.unwrap().is_empty());
    assert_eq!(begun.elapsed(), Duration::from_secs(20));
    let by = caller();
    let waiting = desk.kernel.claim(&by, &request);
    let (leases, ()) = tokio::join!(waiting, async {
        tokio::task::yield_now().await;
        desk.kernel.tasks().begin_shutdown();
    });
    assert!(leases.unwrap().is_empty());
}

/// DP-15: many workers at once are given different turns.
#[tokio::test]
async fn claims_at_once_are_disjoint() {
    let desk = Desk::new(&["a", "b", "c", "d"]).await;
    for agent in ["a", "b", "c", "d"] {
        desk.dispatch(agent).await;
    }
    let (request, by) = (Desk::request(2, Duration::ZERO), caller());
    let claim = || desk.kernel.claim_now(&by, &request);
    let (one, two, three) = tokio::join!(claim(), claim(), claim());
    let mut turns: Vec<_> =
        [one, two, three].into_iter().flat_map(|leases| leases.unwrap()).map(|lease| lease.turn_id).collect();
    assert_eq!(turns.len(), 4);
    turns.sort_unstable();
    turns.dedup();
    assert_eq!(turns.len(), 4);
}
