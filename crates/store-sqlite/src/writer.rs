//! The one writer thread. It takes every commit that is waiting, applies them in one transaction, syncs once, and
//! answers each with its own outcome.
//!
//! Why one thread: SQLite has one writer anyway, a pool of them starves some for seconds, and commits that share
//! a sync cost a fraction of one each.

use crate::{apply::apply, error::store_error, sql};
use cardwire_model::{Commit, Conflict, Timestamp};
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
    let outcomes = match together(conn, &commits) {
        Ok(outcomes) => outcomes,
        // One failure of the store must not decide for its neighbours: each gets a transaction of its own.
        Err(_) if commits.len() > 1 => {
            commits.iter().map(|waiting| alone(conn, std::slice::from_ref(waiting))).collect()
        }
        Err(error) => vec![Err(CommitError::Store(error))],
    };
    for ((_, reply), outcome) in commits.into_iter().zip(outcomes) {
        let _ = reply.send(outcome);
    }
}

fn alone(conn: &Connection, commit: &[Waiting]) -> Outcome {
    let mut outcomes = together(conn, commit).map_err(CommitError::Store)?;
    outcomes.pop().unwrap_or(Ok(()))
}

type Outcome = Result<(), CommitError>;

/// Applies all commits in one transaction. Conflicts are outcomes of single commits; any other failure ends the
/// transaction for all of them.
///
/// Most groups have no conflict, and savepoints cost a copy of every page a commit touches: the first try goes
/// without them, and only a group with a conflict is done again with one per commit.
fn together(conn: &Connection, commits: &[Waiting]) -> Result<Vec<Outcome>, StoreError> {
    match in_transaction(conn, || apply_all(conn, commits))? {
        Applied::All => Ok(commits.iter().map(|_| Ok(())).collect()),
        Applied::NotThis(conflict) if commits.len() == 1 => Ok(vec![Err(conflict.into())]),
        Applied::NotThis(_) => in_transaction(conn, || apply_each(conn, commits)),
    }
}

enum Applied {
    All,
    /// Nothing was applied, because of this conflict.
    NotThis(Conflict),
}

/// What a transaction leaves behind when it ends well.
trait Ends {
    fn commits(&self) -> bool;
}

impl Ends for Applied {
    fn commits(&self) -> bool {
        matches!(self, Self::All)
    }
}

impl Ends for Vec<Outcome> {
    fn commits(&self) -> bool {
        true
    }
}

fn in_transaction<T: Ends>(
    conn: &Connection,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    run_one(conn, "BEGIN IMMEDIATE")?;
    let outcome = work().and_then(|done| {
        if done.commits() {
            run_one(conn, "COMMIT")?;
        }
        Ok(done)
    });
    if !conn.is_autocommit() {
        // A failed rollback leaves the transaction open, and then the next BEGIN reports it.
        let _ = conn.execute_batch("ROLLBACK");
    }
    outcome
}

fn apply_all(conn: &Connection, commits: &[Waiting]) -> Result<Applied, StoreError> {
    for (commit, _) in commits {
        match apply(conn, commit) {
            Ok(()) => {}
            Err(CommitError::Conflict(conflict)) => return Ok(Applied::NotThis(conflict)),
            Err(CommitError::Store(error)) => return Err(error),
        }
    }
    Ok(Applied::All)
}

fn apply_each(conn: &Connection, commits: &[Waiting]) -> Result<Vec<Outcome>, StoreError> {
    let mut outcomes = Vec::with_capacity(commits.len());
    for (commit, _) in commits {
        run_one(conn, "SAVEPOINT one")?;
        match apply(conn, commit) {
            Ok(()) => outcomes.push(Ok(())),
            Err(CommitError::Conflict(conflict)) => {
                run_one(conn, "ROLLBACK TO one")?;
                outcomes.push(Err(CommitError::Conflict(conflict)));
            }
            Err(CommitError::Store(error)) => return Err(error),
        }
        run_one(conn, "RELEASE one")?;
    }
    Ok(outcomes)
}

fn run_one(conn: &Connection, statement: &str) -> Result<(), StoreError> {
    conn.prepare_cached(statement)
        .and_then(|mut statement| statement.execute([]))
        .map(drop)
        .map_err(store_error)
}
