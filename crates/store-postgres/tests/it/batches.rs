//! Batches where this backend is alone: writes that are grouped by kind, commits that share a transaction, and two
//! machines.

use crate::scratch::{Scratch, create_project};
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchKey, BranchStatus, CloseReason, Commit, ProjectId, TaskStatus,
    Write,
};
use cardwire_store::{Batches, CommitError, Store};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{
    ReferenceStore, SeededIds,
    fixtures::{at, batch, branch, branch_end, project_id},
};
use futures_util::future::{join, join_all};

fn commit(project: &ProjectId, writes: impl IntoIterator<Item = Write>) -> Commit {
    let mut commit = Commit::new(project.clone());
    commit.writes.extend(writes);
    commit
}

fn end(key: BranchKey, status: TaskStatus, seed: u64) -> Write {
    Write::EndBranch(Box::new(branch_end(&mut SeededIds::new(seed), key, status)))
}

/// A batch with so many branches that are dispatched.
async fn fork(store: &dyn Store, project: &ProjectId, branches: u32) -> BatchId {
    let mut ids = SeededIds::new(u64::from(branches));
    let forked = batch(&mut ids, branches);
    let mut writes = vec![Write::CreateBatch(Box::new(forked.clone()))];
    for index in 0..branches {
        let row = Branch { status: BranchStatus::Dispatched, ..branch(&mut ids, &forked, index) };
        writes.push(Write::AddBranch(Box::new(row)));
    }
    store.commit(commit(project, writes)).await.unwrap();
    forked.id
}

/// Everything that can be done to a batch and a branch of it, in some way that fits and some that do not.
fn writes(ids: &mut SeededIds, forked: &Batch) -> Vec<Write> {
    let row = branch(ids, forked, 0);
    let moved = |status, from| {
        let branch = Box::new(Branch { status, attempts: 7, updated_at: at(9), ..row.clone() });
        Write::MoveBranch { from, branch }
    };
    let closed = |status, closing| {
        let (result_card, closed_at) = (None, Some(at(30)));
        Write::CloseBatch(Box::new(Batch { status, closing, result_card, closed_at, ..forked.clone() }))
    };
    vec![
        Write::CreateBatch(Box::new(forked.clone())),
        Write::AddBranch(Box::new(row.clone())),
        moved(BranchStatus::Dispatched, BranchStatus::Pending),
        moved(BranchStatus::Pending, BranchStatus::Success),
        end(row.key, TaskStatus::Success, 1),
        end(row.key, TaskStatus::Failed, 2),
        Write::BeginClose { batch_id: forked.id, reason: CloseReason::Deadline },
        closed(BatchStatus::Failed, Some(CloseReason::Deadline)),
        closed(BatchStatus::Partial, None),
        // Nobody does this, but it says what happens after it.
        closed(BatchStatus::Running, None),
    ]
}

/// The server applies kinds in a fixed order; that must not show, whatever the order of the writes is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_to_one_batch_count_in_their_order() {
    let scratch = Scratch::new().await;
    let (store, reference) = (scratch.open().await, ReferenceStore::new());
    let project = create_project(&store, "p1").await;
    let made = cardwire_testkit::ProjectBuilder::new(project_id("p1")).build();
    reference.commit(commit(&project, [Write::CreateProject(made)])).await.unwrap();
    let mut ids = SeededIds::new(1);
    let kinds = writes(&mut ids, &batch(&mut SeededIds::new(2), 1)).len();
    for number in 0..kinds.pow(3) {
        let places = [number % kinds, number / kinds % kinds, number / kinds / kinds];
        // On a batch that is there, and on one that is not.
        for is_there in [true, false] {
            let forked = batch(&mut ids, 1);
            let all = writes(&mut ids, &forked);
            if is_there {
                let first = commit(&project, all[..2].iter().cloned());
                store.commit(first.clone()).await.unwrap();
                reference.commit(first).await.unwrap();
            }
            let next = commit(&project, places.map(|place| all[place].clone()));
            let (found, expected) = (store.commit(next.clone()).await, reference.commit(next.clone()).await);
            let conflict = |outcome| match outcome {
                Ok(()) => None,
                Err(CommitError::Conflict(conflict)) => Some(conflict),
                Err(CommitError::Store(error)) => panic!("{error}\n{next:#?}"),
            };
            assert_eq!(conflict(found), conflict(expected), "{is_there} {next:#?}");
            let rows = async |store: &dyn Store| {
                let row = store.batch(&project, forked.id).await.unwrap();
                (row, store.branches(&project, forked.id, 0, 9).await.unwrap())
            };
            assert_eq!(rows(&store).await, rows(&reference).await, "{is_there} {next:#?}");
        }
    }
    store.close().await;
}

/// The point of sharing: branches of one batch end in few transactions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_of_branches_of_one_batch_share_transactions() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p1").await;
    let batch_id = fork(&store, &project, 300).await;
    let end = |index| commit(&project, [end(BranchKey { batch_id, index }, TaskStatus::Success, 1)]);
    for outcome in join_all((0..300).map(|index| store.commit(end(index)))).await {
        outcome.unwrap();
    }
    let left = "SELECT count(*)::text FROM state_pmo_batch_tasks WHERE status <> 'success'";
    assert_eq!(scratch.column(left).await, ["0"]);
    let transactions =
        scratch.column("SELECT count(DISTINCT xmin::text)::text FROM state_pmo_batch_tasks").await;
    let transactions: usize = transactions[0].parse().unwrap();
    assert!(transactions <= 60, "300 ends in {transactions} transactions");
    store.close().await;
}

/// BM-13 across machines: what was read after a close has begun is what stays, however many ends are under way; and
/// those who close and move at once do not wait for each other for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_one_machine_begins_to_close_no_branch_ends_on_another() {
    const BRANCHES: u32 = 40;
    const ROUNDS: u32 = 20;
    let scratch = Scratch::new().await;
    let stores = [scratch.open().await, scratch.open().await];
    let project = create_project(&stores[0], "p1").await;
    for round in 0..ROUNDS {
        let mut ids = SeededIds::new(1_000 + u64::from(round));
        let forked = batch(&mut ids, BRANCHES);
        let rows: Vec<_> = (0..BRANCHES).map(|index| branch(&mut ids, &forked, index)).collect();
        let mut made = vec![Write::CreateBatch(Box::new(forked.clone()))];
        made.extend(rows.iter().map(|row| Write::AddBranch(Box::new(row.clone()))));
        stores[0].commit(commit(&project, made)).await.unwrap();
        let end = |row: &Branch| commit(&project, [end(row.key, TaskStatus::Success, round.into())]);
        let ends =
            |rows: &[Branch]| join_all(rows.iter().map(|row| stores[0].commit(end(row))).collect::<Vec<_>>());
        // Some surely end before the close and some surely after it; the rest race with it.
        let (before, rest) = rows.split_at(round as usize);
        let (among, after) = rest.split_at((BRANCHES - ROUNDS) as usize);
        let closing = async {
            let reason = CloseReason::FailFast;
            let begin = commit(&project, [Write::BeginClose { batch_id: forked.id, reason }]);
            stores[1].commit(begin).await.unwrap();
            stores[1].branches(&project, forked.id, 0, 99).await.unwrap()
        };
        let mut outcomes = ends(before).await;
        let (raced, seen) = join(ends(among), closing).await;
        outcomes.extend(raced);
        outcomes.extend(ends(after).await);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        assert_eq!(stores[0].branches(&project, forked.id, 0, 99).await.unwrap(), seen, "round {round}");
        let open = seen.iter().filter(|row| row.status.is_open()).count();
        let raced = after.len()..=after.len() + among.len();
        assert!(raced.contains(&open), "round {round}: {open} were open after the close, not {raced:?}");
        close_on_both(&stores, &project, &forked, &seen).await;
    }
    let deadlocks = "SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(scratch.column(deadlocks).await, ["0"]);
    for store in &stores {
        store.close().await;
    }
}

/// Both machines cancel what is open and close the batch; one of them does it.
async fn close_on_both(stores: &[PostgresStore; 2], project: &ProjectId, forked: &Batch, seen: &[Branch]) {
    let cancel = |row: &Branch| {
        let branch = Box::new(Branch { status: BranchStatus::Canceled, ..row.clone() });
        Write::MoveBranch { from: row.status, branch }
    };
    let mut writes: Vec<_> = seen.iter().filter(|row| row.status.is_open()).map(cancel).collect();
    let (status, closing) = (BatchStatus::Failed, Some(CloseReason::FailFast));
    writes.push(Write::CloseBatch(Box::new(Batch {
        status,
        closing,
        closed_at: Some(at(9)),
        ..forked.clone()
    })));
    let closers = stores.iter().map(|store| store.commit(commit(project, writes.clone())));
    let outcomes = join_all(closers).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let found = stores[1].standing(project, forked.id, at(99), at(99), 9).await.unwrap().unwrap();
    assert_eq!((found.batch.status, found.open), (status, false));
}
