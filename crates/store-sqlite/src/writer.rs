//! The one writer thread. It takes every commit that is waiting, applies each inside its own savepoint of one
//! transaction, syncs once, and answers each with its own outcome.
//!
//! Why one thread: SQLite has one writer anyway, a pool of them starves some for seconds, and commits that share
//! a sync cost a fraction of one each.

use crate::{apply::apply, error::store_error, sql};
use cardwire_model::{Commit, Timestamp};
use cardwire_store::{CommitError, StoreError};
use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

/// Most commits that share one sync.
const GROUP: usize = 256;
/// Most commits waiting; further callers wait for a place.
const QUEUE: usize = 4 * GROUP;

pub(crate) enum Job {
    Commit(Box<Commit>, oneshot::Sender<Result<(), CommitError>>),
    ForgetAnswers(Timestamp, oneshot::Sender<Result<u64, StoreError>>),
}

/// Starts the thread; it ends when every sender is gone.
pub(crate) fn start(conn: Connection) -> std::io::Result<(mpsc::Sender<Job>, std::thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let thread =
        std::thread::Builder::new().name("cardwire-writer".to_owned()).spawn(move || run(&conn, receiver))?;
    Ok((sender, thread))
}

fn run(conn: &Connection, mut jobs: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP);
    while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
        let mut commits = Vec::with_capacity(group.len());
        for job in group.drain(..) {
            match job {
                Job::Commit(commit, reply) => commits.push((commit, reply)),
                Job::ForgetAnswers(before, reply) => {
                    let forgotten = conn.execute(sql::FORGET_ANSWERS, params![before.micros()]);
                    // A caller that went away does not need the answer.
                    let _ = reply.send(forgotten.map(|rows| rows as u64).map_err(store_error));
                }
            }
        }
        if !commits.is_empty() {
            answer(conn, commits);
        }
    }
    // Leaves a small file behind and tells of nothing: the log is replayed on the next start anyway.
    let _ = conn.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
}

type Waiting = (Box<Commit>, oneshot::Sender<Result<(), CommitError>>);

fn answer(conn: &Connection, commits: Vec<Waiting>) {
    let outcomes = match together(conn, commits.iter().map(|(commit, _)| commit.as_ref())) {
        Ok(outcomes) => outcomes,
        // One failure of the store must not decide for its neighbours: each gets a transaction of its own.
        Err(_) if commits.len() > 1 => commits.iter().map(|(commit, _)| alone(conn, commit)).collect(),
        Err(error) => vec![Err(CommitError::Store(error))],
    };
    for ((_, reply), outcome) in commits.into_iter().zip(outcomes) {
        let _ = reply.send(outcome);
    }
}

fn alone(conn: &Connection, commit: &Commit) -> Result<(), CommitError> {
    let mut outcomes = together(conn, std::iter::once(commit)).map_err(CommitError::Store)?;
    outcomes.pop().unwrap_or(Ok(()))
}

/// Applies all commits in one transaction. Conflicts are outcomes of single commits; any other failure ends the
/// transaction for all of them.
fn together<'a>(
    conn: &Connection,
    commits: impl Iterator<Item = &'a Commit>,
) -> Result<Vec<Result<(), CommitError>>, StoreError> {
    let outcome = apply_all(conn, commits);
    if outcome.is_err() && !conn.is_autocommit() {
        // A failed rollback leaves the transaction open, and then the next BEGIN reports it.
        let _ = conn.execute_batch("ROLLBACK");
    }
    outcome
}

fn apply_all<'a>(
    conn: &Connection,
    commits: impl Iterator<Item = &'a Commit>,
) -> Result<Vec<Result<(), CommitError>>, StoreError> {
    let run = |statement: &str| {
        conn.prepare_cached(statement).and_then(|mut statement| statement.execute([])).map_err(store_error)
    };
    run("BEGIN IMMEDIATE")?;
    let mut outcomes = Vec::new();
    for commit in commits {
        run("SAVEPOINT one")?;
        match apply(conn, commit) {
            Ok(()) => outcomes.push(Ok(())),
            Err(CommitError::Conflict(conflict)) => {
                run("ROLLBACK TO one")?;
                outcomes.push(Err(CommitError::Conflict(conflict)));
            }
            Err(CommitError::Store(error)) => return Err(error),
        }
        run("RELEASE one")?;
    }
    run("COMMIT")?;
    Ok(outcomes)
}
