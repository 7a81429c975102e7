//! What a caller is told when the server goes away, refuses or is slow (NF-13).

use crate::scratch::{Connection, Scratch, create_project, refusal};
use cardwire_model::{Commit, Write};
use cardwire_store::{Catalog, CommitError, EventFilter, Outage, Store, StoreError};
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use cardwire_testkit::{SeededIds, fixtures::text_card};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

fn put(project: &cardwire_model::ProjectId, seed: u64) -> Commit {
    let mut commit = Commit::new(project.clone());
    let card = text_card(SeededIds::new(seed).card(), "x");
    commit.writes.push(Write::PutCard(Box::new(card)));
    commit
}

fn is_cut(error: &CommitError) -> bool {
    matches!(error, CommitError::Store(StoreError::Unavailable(_) | StoreError::Uncertain(_)))
}

const KILL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test]
async fn no_server_is_unavailable_and_the_password_stays_secret() {
    let url = "postgres://me:hunter2@127.0.0.1:1/none".to_owned();
    let why = refusal(PostgresStore::open(PostgresConfig::new(url)).await);
    assert!(why.contains("unavailable") && !why.contains("hunter2"), "{why}");
    let why =
        refusal(PostgresStore::open(PostgresConfig::new("postgres://me:hunter2@h:x/".to_owned())).await);
    assert!(!why.contains("hunter2"), "{why}");
}

/// The server ended every connection; the next calls get new ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_after_connections_were_cut() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    for seed in 0..5 {
        scratch.execute(KILL).await;
        // The cut may be noticed only by the first call.
        let mut attempts = 0;
        while let Err(error) = store.commit(put(&project, seed)).await {
            assert!(is_cut(&error), "{error:?}");
            attempts += 1;
            assert!(attempts < 50, "no connection came back");
        }
        while store.project(&project).await.is_err() {
            attempts += 1;
            assert!(attempts < 50, "no connection came back");
        }
    }
    store.close().await;
}

/// A commit that waits for a lock, and who holds that.
async fn held_up(
    scratch: &Scratch,
    store: &Arc<PostgresStore>,
    commit: Commit,
) -> (Connection, JoinHandle<Result<(), CommitError>>) {
    let blocker = scratch.connect(None).await;
    blocker.client.batch_execute("BEGIN; LOCK TABLE cards IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let store = Arc::clone(store);
    let committing = tokio::spawn(async move { store.commit(commit).await });
    let waiting = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while scratch.column(waiting).await != ["1"] {
        tokio::task::yield_now().await;
    }
    (blocker, committing)
}

/// A commit that waits for a lock when its connection is cut: the server says that it gave up, or nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_cut_off_is_not_called_applied() {
    let scratch = Scratch::new().await;
    let store = Arc::new(scratch.open().await);
    let project = create_project(&store, "p").await;
    let (blocker, committing) = held_up(&scratch, &store, put(&project, 1)).await;
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    scratch.execute(kill).await;
    match committing.await.unwrap() {
        Err(CommitError::Store(StoreError::Unavailable(_) | StoreError::Uncertain(_))) => {}
        outcome => panic!("{outcome:?}"),
    }
    blocker.client.batch_execute("COMMIT").await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_given_up() {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    config.statement_timeout = Duration::from_millis(200);
    let store = PostgresStore::open(config).await.unwrap();
    let project = create_project(&store, "p").await;
    let blocker = scratch.connect(None).await;
    blocker.client.batch_execute("BEGIN; LOCK TABLE cards IN ACCESS EXCLUSIVE MODE").await.unwrap();
    match store.commit(put(&project, 1)).await {
        Err(CommitError::Store(StoreError::Unavailable(_))) => {}
        outcome => panic!("{outcome:?}"),
    }
    blocker.client.batch_execute("COMMIT").await.unwrap();
    store.commit(put(&project, 1)).await.expect("nothing was written the first time");
    store.close().await;
}

/// NF-13, F-23: a database that takes no writes says so, is not ready, and writing goes on when it does again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_database_is_unavailable_for_writing() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    let name = &scratch.column("SELECT current_database()::text").await[0];
    scratch.execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on; {KILL}")).await;
    // Connections that are being ended fail in their own ways first.
    let mut outcome = store.commit(put(&project, 1)).await;
    while outcome.as_ref().is_err_and(is_cut) {
        outcome = store.commit(put(&project, 1)).await;
    }
    match outcome {
        Err(CommitError::Store(StoreError::CannotWrite(Outage::ReadOnly))) => {}
        outcome => panic!("{outcome:?}"),
    }
    let mut ready = store.ready().await;
    while let Err(StoreError::Unavailable(_)) = ready {
        ready = store.ready().await;
    }
    assert!(matches!(ready, Err(StoreError::CannotWrite(Outage::ReadOnly))), "{ready:?}");
    let admin = scratch.connect(None).await;
    for statement in
        ["SET default_transaction_read_only = off", &format!("ALTER DATABASE {name} RESET ALL"), KILL]
    {
        admin.client.batch_execute(statement).await.unwrap();
    }
    let mut attempts = 0;
    while store.commit(put(&project, 1)).await.is_err() {
        attempts += 1;
        assert!(attempts < 50, "writing does not go on");
    }
    while store.ready().await.is_err() {
        attempts += 1;
        assert!(attempts < 50, "it does not get ready");
    }
    store.close().await;
}

/// F-25: whoever reads a log waits for nobody who writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_are_read_while_every_connection_of_tenants_is_taken() {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    config.app_connections = 1;
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    let project = create_project(&store, "p").await;
    let (blocker, committing) = held_up(&scratch, &store, put(&project, 1)).await;
    let read = async {
        store.last_position(&project).await.unwrap();
        store.events(&project, 0, &EventFilter::default(), 9).await.unwrap();
        store.last_positions(std::slice::from_ref(&project)).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(3), read).await.expect("a log is read meanwhile");
    blocker.client.batch_execute("COMMIT").await.unwrap();
    committing.await.unwrap().unwrap();
    store.close().await;
}

/// A caller that goes away does not take its neighbours' commits with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_go_away_leave_the_others_alone() {
    let scratch = Scratch::new().await;
    let store = Arc::new(scratch.open().await);
    let project = create_project(&store, "p").await;
    let mut tasks = vec![];
    for seed in 0..100 {
        let (store, commit) = (Arc::clone(&store), put(&project, seed));
        tasks.push(tokio::spawn(async move { store.commit(commit).await }));
    }
    tokio::task::yield_now().await;
    tasks.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);
    for (number, task) in tasks.into_iter().enumerate() {
        match task.await {
            Ok(outcome) => outcome.unwrap(),
            Err(error) => assert!(error.is_cancelled() && number % 2 == 0),
        }
    }
    store.close().await;
}
