//! How a batch stands: what is to be known to go on with it, without reading all its branches.

use super::{
    batches::{add, begin, create, end, move_from},
    case::Case,
};
use crate::fixtures::{at, batch, branch, branch_end};
use cardwire_model::{Batch, Branch, BranchStatus, CloseReason, TaskStatus, Timestamp, TurnEpoch};
use cardwire_store::{Standing, Store};
use std::sync::Arc;

async fn standing(case: &Case, batch: &Batch) -> Standing {
    at_moments(case, batch, at(1_000), at(1_000), 99).await
}

async fn at_moments(case: &Case, batch: &Batch, due: Timestamp, quiet: Timestamp, limit: usize) -> Standing {
    let found = case.store.standing(&case.project, batch.id, due, quiet, limit).await.unwrap();
    found.expect("the batch is there")
}

/// Branches with these states, by index.
async fn add_all(case: &mut Case, forked: &Batch, states: &[BranchStatus]) -> Vec<Branch> {
    let mut rows = vec![];
    for (index, status) in (0..).zip(states) {
        rows.push(Branch { status: *status, ..branch(&mut case.ids, forked, index) });
    }
    case.write(rows.iter().map(add)).await;
    rows
}

fn indexes(rows: &[Branch]) -> Vec<u32> {
    rows.iter().map(|row| row.key.index).collect()
}

/// BM-13: one open branch keeps a batch open, one failure is a failure; partial success is none.
pub async fn a_standing_tells_of_open_and_failed_branches(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    for states in [
        &[][..],
        &[BranchStatus::Success, BranchStatus::Partial],
        &[BranchStatus::Pending, BranchStatus::Success],
        &[BranchStatus::Partial, BranchStatus::Dispatched],
        &[BranchStatus::Success, BranchStatus::Failed],
        &[BranchStatus::Canceled, BranchStatus::Partial],
        &[BranchStatus::Partial, BranchStatus::Timeout],
        &[BranchStatus::Failed, BranchStatus::Pending],
    ] {
        let forked = batch(&mut case.ids, states.len() as u32);
        case.write([create(&forked)]).await;
        let rows = add_all(&mut case, &forked, states).await;
        let found = standing(&case, &forked).await;
        let open = rows.iter().any(|row| row.status.is_open());
        let failed = rows.iter().any(|row| row.status.is_failure());
        assert_eq!((found.open, found.failed), (open, failed), "{states:?}");
        assert_eq!(found.batch, forked);
        assert_eq!((found.succeeded, found.dispatched), (0, 0), "nothing is counted without a bound");
    }
    let absent = case.ids.batch();
    let found = case.store.standing(&case.project, absent, at(0), at(0), 9).await.unwrap();
    assert_eq!(found, None);
    // The row is as it is now.
    let (forked, rows) = case.fork(1).await;
    let failure = branch_end(&mut case.ids, rows[0].key, TaskStatus::Failed);
    case.write([end(&failure), begin(&forked, CloseReason::FailFast)]).await;
    let found = standing(&case, &forked).await;
    assert_eq!((found.open, found.failed), (false, true));
    assert_eq!(found.batch, Batch { closing: Some(CloseReason::FailFast), ..forked });
}

/// OB: successes are counted as far as they matter; only whole ones are.
pub async fn a_standing_counts_successes_up_to_enough(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut states = BranchStatus::ALL.to_vec();
    states.extend([BranchStatus::Success; 2]);
    for (enough, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (1_000, 3)] {
        let forked = Batch { enough, ..batch(&mut case.ids, 9) };
        case.write([create(&forked)]).await;
        add_all(&mut case, &forked, &states).await;
        assert_eq!(standing(&case, &forked).await.succeeded, expected, "of {enough}");
    }
    let forked = Batch { enough: 2, ..batch(&mut case.ids, 0) };
    case.write([create(&forked)]).await;
    assert_eq!(standing(&case, &forked).await.succeeded, 0);
}

/// OB: branches under way are counted as far as they matter.
pub async fn a_standing_counts_dispatched_up_to_parallel(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut states = BranchStatus::ALL.to_vec();
    states.extend([BranchStatus::Dispatched; 2]);
    for (parallel, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (1_000, 3)] {
        let forked = Batch { parallel, ..batch(&mut case.ids, 9) };
        case.write([create(&forked)]).await;
        let rows = add_all(&mut case, &forked, &states).await;
        assert_eq!(standing(&case, &forked).await.dispatched, expected, "of {parallel}");
        // Leased or not.
        let leased = Branch { epoch: Some(TurnEpoch::new(1)), ..rows[1].clone() };
        case.write([move_from(BranchStatus::Dispatched, &leased)]).await;
        assert_eq!(standing(&case, &forked).await.dispatched, expected, "of {parallel}");
    }
}

/// BM-10: the first branches whose time has come, and not more than asked for.
pub async fn a_standing_names_the_first_branches_to_dispatch(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let forked = batch(&mut case.ids, 20);
    case.write([create(&forked)]).await;
    let moments = [None, Some(at(9)), Some(at(10)), Some(at(11)), Some(at(8))];
    let mut rows = vec![];
    for (index, next_attempt_at) in (0..).zip(moments.iter().cycle().take(10)) {
        rows.push(Branch { next_attempt_at: *next_attempt_at, ..branch(&mut case.ids, &forked, index) });
    }
    // Only what is pending is to be dispatched.
    for (index, status) in (10..).zip(BranchStatus::ALL) {
        let next_attempt_at = (index % 2 == 0).then(|| at(1));
        rows.push(Branch { status: *status, next_attempt_at, ..branch(&mut case.ids, &forked, index) });
    }
    // Written in any order.
    case.write(rows.iter().rev().map(add)).await;
    let (other, _) = case.fork(3).await;
    let due = async |due, limit| at_moments(&case, &forked, due, at(0), limit).await.pending;
    let found = due(at(10), 99).await;
    assert_eq!(indexes(&found), [0, 1, 2, 4, 5, 6, 7, 9, 10]);
    assert!(found.iter().all(|row| *row == rows[row.key.index as usize]), "whole rows");
    assert_eq!(indexes(&due(at(10), 3).await), [0, 1, 2]);
    assert_eq!(indexes(&due(at(9), 4).await), [0, 1, 4, 5]);
    assert_eq!(indexes(&due(Timestamp::from_micros(9_999_999), 99).await), [0, 1, 4, 5, 6, 9, 10]);
    assert_eq!(indexes(&due(at(0), 99).await), [0, 5]);
    assert_eq!(due(at(99), 0).await, []);
    assert_eq!(indexes(&standing(&case, &other).await.pending), [0, 1, 2]);
}

/// BM-19: the first branches that were dispatched a while ago and that nobody has taken.
pub async fn a_standing_names_the_first_branches_nobody_took(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let forked = batch(&mut case.ids, 20);
    case.write([create(&forked)]).await;
    let mut rows = vec![];
    for index in 0..12 {
        rows.push(Branch {
            status: BranchStatus::Dispatched,
            updated_at: at(8 + i64::from(index) % 4),
            epoch: (index % 3 == 2).then(|| TurnEpoch::new(1)),
            // Says nothing of a branch that was dispatched.
            next_attempt_at: (index % 2 == 0).then(|| at(500)),
            ..branch(&mut case.ids, &forked, index)
        });
    }
    let others = BranchStatus::ALL.iter().filter(|status| **status != BranchStatus::Dispatched);
    for (index, status) in (12..).zip(others) {
        rows.push(Branch { status: *status, ..branch(&mut case.ids, &forked, index) });
    }
    case.write(rows.iter().rev().map(add)).await;
    let quiet = async |quiet, limit| at_moments(&case, &forked, at(0), quiet, limit).await.unleased;
    let found = quiet(at(10), 99).await;
    assert_eq!(indexes(&found), [0, 1, 4, 9]);
    assert!(found.iter().all(|row| *row == rows[row.key.index as usize]), "whole rows");
    assert_eq!(indexes(&quiet(at(10), 2).await), [0, 1]);
    assert_eq!(indexes(&quiet(Timestamp::from_micros(10_000_001), 99).await), [0, 1, 4, 6, 9, 10]);
    assert_eq!(indexes(&quiet(at(99), 99).await), [0, 1, 3, 4, 6, 7, 9, 10]);
    assert_eq!(quiet(at(8), 99).await, []);
    // Both lists have the limit each.
    let both = at_moments(&case, &forked, at(99), at(99), 1).await;
    assert_eq!((indexes(&both.pending), indexes(&both.unleased)), (vec![12], vec![0]));
}
