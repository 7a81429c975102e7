//! Claims on the one writer thread: they share its transactions with commits, and cost nothing when there is nothing
//! to claim.

use cardwire_model::{Commit, Conflict, InboxId, InboxItem, InboxStatus, ProjectId, Write};
use cardwire_store::{ClaimQuery, Claimable, CommitError, DecideClaim, Store, StoreError, Turns};
use cardwire_store_sqlite::SqliteStore;
use cardwire_testkit::{
    ProjectBuilder, SeededIds,
    fixtures::{at, project_id, turn_item, worker_target},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

fn query(limit: usize) -> ClaimQuery {
    ClaimQuery { worker_target: worker_target("generic"), projects: None, now: at(100), limit }
}

fn take(project: &ProjectId, rows: &[Claimable]) -> Commit {
    let mut commit = Commit::new(project.clone());
    for row in rows {
        let item = InboxItem { status: InboxStatus::Processing, ..row.item.clone() };
        commit.writes.push(Write::UpdateInbox { from: row.item.status, item: Box::new(item) });
    }
    commit
}

/// A project, and pending turns in it.
async fn with_turns(
    store: &SqliteStore,
    project: &ProjectId,
    ids: &mut SeededIds,
    count: usize,
) -> Vec<InboxId> {
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(project.clone()).build()));
    let mut rows = vec![];
    for number in 0..count {
        let box_id = ids.card_box();
        let item = turn_item(ids, &format!("agent-{number}"), box_id);
        rows.push(item.id);
        commit.writes.push(Write::Enqueue(Box::new(item)));
    }
    store.commit(commit).await.unwrap();
    rows
}

/// Claims and tells which rows were given to commits that were applied.
async fn claim(store: &SqliteStore, limit: usize) -> Vec<InboxId> {
    let given: Arc<Mutex<BTreeMap<ProjectId, Vec<InboxId>>>> = Arc::default();
    let seen = Arc::clone(&given);
    let decide: DecideClaim = Arc::new(move |project, rows| {
        let ids = rows.iter().map(|row| row.item.id).collect();
        seen.lock().unwrap().insert(project.clone(), ids);
        take(project, &rows)
    });
    let applied = store.claim(&query(limit), decide).await.unwrap();
    let mut given = given.lock().unwrap();
    applied.iter().filter_map(|project| given.remove(project)).flatten().collect()
}

/// What is on disk.
fn bytes(directory: &TempDir) -> [Vec<u8>; 2] {
    ["cardwire.db", "cardwire.db-wal"].map(|name| std::fs::read(directory.path().join(name)).unwrap())
}

#[tokio::test]
async fn a_claim_that_takes_nothing_writes_nothing() {
    let (store, directory) = crate::fresh();
    let project = project_id("p1");
    let rows = with_turns(&store, &project, &mut SeededIds::new(1), 3).await;
    let before = bytes(&directory);
    // Nothing for these workers: a reader sees that.
    let unreachable: DecideClaim = Arc::new(|_, _| panic!("there is nothing to decide"));
    let nobody = ClaimQuery { worker_target: worker_target("nobody"), ..query(9) };
    assert_eq!(store.claim(&nobody, Arc::clone(&unreachable)).await.unwrap(), []);
    assert_eq!(store.claim(&query(0), unreachable).await.unwrap(), []);
    // Something, but the decision leaves it: the writer has a transaction without a write.
    let leave: DecideClaim = Arc::new(|project, _| Commit::new(project.clone()));
    assert_eq!(store.claim(&query(9), leave).await.unwrap(), []);
    assert!(bytes(&directory) == before, "a claim that took nothing changed the files");
    assert_eq!(claim(&store, 9).await, rows);
    assert!(bytes(&directory) != before, "or this test cannot fail");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_and_commits_that_share_a_transaction_keep_their_own_outcomes() {
    let (store, _directory) = crate::fresh();
    let store = Arc::new(store);
    let mut ids = SeededIds::new(2);
    let mut expected = BTreeSet::new();
    for name in ["p1", "p2", "p3"] {
        expected.extend(with_turns(&store, &project_id(name), &mut ids, 40).await);
    }
    // Every other commit is refused, so that every group is done a second time, with savepoints.
    let mut claims = tokio::task::JoinSet::new();
    let mut commits = tokio::task::JoinSet::new();
    for number in 0..60_u64 {
        let (claimer, committer) = (Arc::clone(&store), Arc::clone(&store));
        claims.spawn(async move { claim(&claimer, 7).await });
        let name = if number % 2 == 0 { "p1".to_owned() } else { format!("new-{number}") };
        commits.spawn(async move {
            let project = project_id(&name);
            let mut commit = Commit::new(project.clone());
            commit.writes.push(Write::CreateProject(ProjectBuilder::new(project).build()));
            (number, committer.commit(commit).await)
        });
    }
    let mut claimed = vec![];
    while let Some(rows) = claims.join_next().await {
        claimed.extend(rows.unwrap());
    }
    while let Some(outcome) = commits.join_next().await {
        match outcome.unwrap() {
            (number, Ok(())) => assert_eq!(number % 2, 1),
            (number, Err(CommitError::Conflict(Conflict::Project))) => assert_eq!(number % 2, 0),
            (number, Err(other)) => panic!("commit {number}: {other}"),
        }
    }
    assert_eq!(claimed.len(), 120, "each row once");
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(claim(&store, 7).await, []);
}

#[tokio::test]
async fn a_decision_that_panics_ends_its_own_claim_and_nothing_else() {
    let (store, _directory) = crate::fresh();
    let rows = with_turns(&store, &project_id("p1"), &mut SeededIds::new(4), 2).await;
    let broken: DecideClaim = Arc::new(|_, _| panic!("on purpose"));
    let outcome = store.claim(&query(9), broken).await;
    assert!(matches!(outcome, Err(CommitError::Store(StoreError::Internal(_)))), "{outcome:?}");
    assert_eq!(claim(&store, 9).await, rows);
}
