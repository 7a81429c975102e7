//! What a store says of itself while no write goes through, and that it says so within seconds (F-23, F-34, F-43; NF-13).

use cardwire_model::{Commit, ProjectId, Write, limits};
use cardwire_store::{ClaimQuery, CommitError, DecideClaim, Outage, Store, StoreError, Turns};
use cardwire_store_sqlite::SqliteStore;
use cardwire_testkit::{
    ProjectBuilder, SeededIds,
    fixtures::{at, project_id, text_card, turn_item, worker_target},
};
use std::{
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A store with a turn that can be claimed: what decides on a claim runs on the writer's thread.
async fn with_a_turn() -> (Arc<SqliteStore>, TempDir, ProjectId) {
    let (store, directory) = crate::fresh();
    let (project, mut ids) = (project_id("p1"), SeededIds::new(1));
    let box_id = ids.card_box();
    let item = turn_item(&mut ids, "a", box_id);
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(project.clone()).build()));
    commit.writes.push(Write::Enqueue(Box::new(item)));
    store.commit(commit).await.unwrap();
    (Arc::new(store), directory, project)
}

async fn claim(store: &SqliteStore, decide: DecideClaim) -> Result<Vec<ProjectId>, CommitError> {
    let query = ClaimQuery { worker_target: worker_target("generic"), projects: None, now: at(1), limit: 9 };
    store.claim(&query, decide).await
}

fn put(project: &ProjectId, seed: u64) -> Commit {
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutCard(Box::new(text_card(SeededIds::new(seed).card(), "x"))));
    commit
}

fn outage<T>(outcome: Result<T, StoreError>) -> Option<Outage> {
    match outcome {
        Ok(_) => None,
        Err(StoreError::CannotWrite(outage)) => Some(outage),
        Err(error) => panic!("{error:?}"),
    }
}

/// F-23
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_hangs_is_noticed_within_seconds_and_when_it_goes_on() {
    let (store, _directory, project) = with_a_turn().await;
    let (go_on, stopped) = mpsc::channel::<()>();
    let (stopped, (hangs, has_begun)) = (Mutex::new(stopped), mpsc::channel());
    let decide: DecideClaim = Arc::new(move |project, _| {
        let _ = hangs.send(());
        let _ = stopped.lock().unwrap().recv();
        Commit::new(project.clone())
    });
    let claiming = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { claim(&store, decide).await })
    };
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    let begun = Instant::now();
    let (one, other) = tokio::join!(store.ready(), store.ready());
    let took = begun.elapsed();
    assert_eq!((outage(one), outage(other)), (Some(Outage::Silent), Some(Outage::Silent)));
    let bound = Duration::from_secs(limits::READY_SECONDS);
    assert!((bound..bound + Duration::from_secs(2)).contains(&took), "{took:?}");
    store.load(&project.clone().into(), &cardwire_model::Keys::default()).await.expect("reading goes on");
    go_on.send(()).unwrap();
    claiming.await.unwrap().unwrap();
    assert_eq!(outage(store.ready().await), None);
    store.commit(put(&project, 7)).await.unwrap();
}

/// F-43: what would be written into files that nobody can open any more is refused.
#[tokio::test]
async fn a_store_whose_files_were_removed_takes_no_more_writes() {
    for name in ["cardwire.db", "cardwire.db-wal", "cardwire.db-shm"] {
        let (store, directory, project) = with_a_turn().await;
        assert_eq!(outage(store.ready().await), None);
        std::fs::remove_file(directory.path().join(name)).unwrap();
        match store.commit(put(&project, 7)).await {
            Err(CommitError::Store(error)) => assert_eq!(outage::<()>(Err(error)), Some(Outage::FilesGone)),
            outcome => panic!("{name}: {outcome:?}"),
        }
        assert_eq!(outage(store.ready().await), Some(Outage::FilesGone), "{name}");
    }
}

/// F-23, NF-13: a database that somebody else keeps locked.
#[tokio::test]
async fn a_lock_that_somebody_else_holds_is_told_and_is_over_when_it_is_released() {
    let (store, directory, project) = with_a_turn().await;
    let other = crate::connect(&directory);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    match store.commit(put(&project, 7)).await {
        Err(CommitError::Store(error)) => assert_eq!(outage::<()>(Err(error)), Some(Outage::Locked)),
        outcome => panic!("{outcome:?}"),
    }
    other.execute_batch("ROLLBACK").unwrap();
    // The look tries to write by itself; nobody else does.
    assert_eq!(outage(store.ready().await), None);
    store.commit(put(&project, 7)).await.unwrap();
}

/// F-34: a directory that may be read alone is opened for reading, and says so.
#[tokio::test]
async fn a_store_opened_for_reading_refuses_writes_and_changes_no_file() {
    let (store, directory, project) = with_a_turn().await;
    store.close().await;
    let (copy, names) = (TempDir::new().unwrap(), ["cardwire.db", "cardwire.mark"]);
    for name in names {
        std::fs::copy(directory.path().join(name), copy.path().join(name)).ok();
    }
    let listed = || {
        let mut names: Vec<_> =
            std::fs::read_dir(copy.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listed();
    let store = SqliteStore::open_read_only(&copy.path().join("cardwire.db")).unwrap();
    assert_eq!(outage(store.ready().await), Some(Outage::ReadOnly));
    match store.commit(put(&project, 7)).await {
        Err(CommitError::Store(error)) => assert_eq!(outage::<()>(Err(error)), Some(Outage::ReadOnly)),
        outcome => panic!("{outcome:?}"),
    }
    let keys = cardwire_model::Keys { project: true, ..Default::default() };
    assert!(store.load(&project.into(), &keys).await.unwrap().project.is_some());
    assert_eq!(listed(), before);
    store.close().await;
    assert_eq!(listed(), before);
}
