//! The one writer thread. It takes all the work that is waiting, does it in one transaction, syncs once, and
//! answers each with its own outcome.
//!
//! Why one thread: SQLite has one writer anyway, a pool of them starves some for seconds, and commits that share
//! a sync cost a fraction of one each.

use crate::{apply::apply, claim::Claim, error::store_error, pulse::Pulse, sql, write_back::WriteBack};
use cardwire_model::{Commit, Conflict, ProjectId, Realm, Timestamp};
use cardwire_store::{CommitError, StoreError};
use rusqlite::{Connection, params};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Most jobs that share one sync.
const GROUP: usize = 256;
/// Most jobs waiting; further callers wait for a place.
const QUEUE: usize = 4 * GROUP;

pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) reply: oneshot::Sender<Outcome>,
}

impl Job {
    /// Nobody waits for the answer any more: what is claimed now would lie about until the watchdog finds it.
    fn is_forsaken(&self) -> bool {
        self.reply.is_closed()
    }
}

pub(crate) enum Work {
    /// Nothing: whether the writer would get round to something.
    Look,
    Commit(Box<Commit>),
    Claim(Arc<Claim>),
    ForgetAnswers(Timestamp),
}

/// What there is to tell of work that was done: nothing, for a commit.
#[derive(Default)]
pub(crate) struct Written {
    /// Projects whose rows were claimed.
    pub(crate) claimed: Vec<ProjectId>,
    /// Answers that were forgotten.
    pub(crate) forgotten: u64,
}

type Outcome = Result<Written, CommitError>;

/// Starts the thread; it ends when every sender is gone.
pub(crate) fn start(
    conn: Connection,
    write_back: WriteBack,
    pulse: Arc<Pulse>,
) -> std::io::Result<(mpsc::Sender<Job>, std::thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let thread = std::thread::Builder::new()
        .name("cardwire-writer".to_owned())
        .spawn(move || run(&Writer { conn, pulse }, write_back, receiver))?;
    Ok((sender, thread))
}

struct Writer {
    conn: Connection,
    pulse: Arc<Pulse>,
}

fn run(writer: &Writer, write_back: WriteBack, mut jobs: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP);
    while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
        writer.answer(&mut group);
        write_back.look(&writer.conn);
    }
    drop(write_back);
    // Leaves a small file behind; without it the log is replayed on the next start.
    if let Err(error) = writer.conn.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(%error, "the store's log was not written back at the end; the next start reads it");
    }
}

impl Writer {
    fn answer(&self, group: &mut Vec<Job>) {
        let outcomes = match self.pulse.refusal() {
            None => self.outcomes(group),
            Some(outage) => group.iter().map(|_| Err(StoreError::CannotWrite(outage).into())).collect(),
        };
        for (job, outcome) in group.drain(..).zip(outcomes) {
            // A caller that went away does not need the answer.
            let _ = job.reply.send(outcome);
        }
    }

    fn outcomes(&self, group: &[Job]) -> Vec<Outcome> {
        let mut outcomes = match self.together(group) {
            Ok(outcomes) => outcomes,
            // One failure of the store must not decide for its neighbours: each gets a transaction of its own.
            Err(_) if group.len() > 1 => group.chunks(1).map(|job| self.alone(job)).collect(),
            Err(error) => vec![Err(CommitError::Store(error))],
        };
        if let Some(realm) = last_told(group, &outcomes) {
            self.pulse.moved(realm.clone());
        }
        let looks = group.iter().zip(&mut outcomes).filter(|(job, _)| matches!(job.work, Work::Look));
        for (_, outcome) in looks {
            self.pulse.try_again(&self.conn);
            if let (Ok(_), Some(outage)) = (&outcome, self.pulse.outage()) {
                *outcome = Err(StoreError::CannotWrite(outage).into());
            }
        }
        outcomes
    }

    fn alone(&self, job: &[Job]) -> Outcome {
        let mut outcomes = self.together(job).map_err(CommitError::Store)?;
        outcomes.pop().unwrap_or_else(|| Ok(Written::default()))
    }

    fn together(&self, jobs: &[Job]) -> Result<Vec<Outcome>, StoreError> {
        let outcomes = together(&self.conn, jobs);
        self.pulse.ended(outcomes.as_ref().err());
        outcomes
    }
}

/// The realm of the last commit that is told of in a log: where this is durable, everything before it is.
fn last_told<'a>(group: &'a [Job], outcomes: &[Outcome]) -> Option<&'a Realm> {
    group.iter().zip(outcomes).rev().find_map(|(job, outcome)| match &job.work {
        Work::Commit(commit) if outcome.is_ok() && !(commit.events.is_empty() && commit.audit.is_empty()) => {
            Some(&commit.realm)
        }
        Work::Commit(_) | Work::Claim(_) | Work::ForgetAnswers(_) | Work::Look => None,
    })
}

/// Does all the work in one transaction. Conflicts are outcomes of single commits; any other failure ends the
/// transaction for all of them.
///
/// Most groups have no conflict, and savepoints cost a copy of every page a commit touches: the first try goes
/// without them, and only a group with a conflict is done again with one per commit.
fn together(conn: &Connection, jobs: &[Job]) -> Result<Vec<Outcome>, StoreError> {
    match (in_transaction(conn, || do_all(conn, jobs))?, jobs) {
        (Done::All(outcomes), _) => Ok(outcomes),
        (Done::Nothing(conflict), [Job { work: Work::Commit(_), .. }]) => Ok(vec![Err(conflict.into())]),
        (Done::Nothing(_), _) => match in_transaction(conn, || do_each(conn, jobs))? {
            Done::All(outcomes) => Ok(outcomes),
            Done::Nothing(conflict) => Err(StoreError::Internal(conflict.to_string())),
        },
    }
}

enum Done {
    All(Vec<Outcome>),
    /// Nothing is to be kept, because of this conflict.
    Nothing(Conflict),
}

/// A transaction in which nothing was written costs no sync.
fn in_transaction(
    conn: &Connection,
    work: impl FnOnce() -> Result<Done, StoreError>,
) -> Result<Done, StoreError> {
    run_one(conn, "BEGIN IMMEDIATE")?;
    let outcome = work().and_then(|done| {
        if matches!(done, Done::All(_)) {
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

/// Without savepoints: the first conflict undoes everything.
fn do_all(conn: &Connection, jobs: &[Job]) -> Result<Done, StoreError> {
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        let outcome = match &job.work {
            Work::Commit(commit) => apply(conn, commit).map(|()| Written::default()),
            Work::Claim(_) if job.is_forsaken() => Ok(Written::default()),
            Work::Claim(claim) => claimed(claim.run(conn, |commit| apply(conn, commit).map(|()| true))),
            Work::ForgetAnswers(before) => forget_answers(conn, *before),
            Work::Look => Ok(Written::default()),
        };
        match outcome {
            Ok(written) => outcomes.push(Ok(written)),
            Err(CommitError::Conflict(conflict)) => return Ok(Done::Nothing(conflict)),
            Err(CommitError::Store(error)) => return Err(error),
        }
    }
    Ok(Done::All(outcomes))
}

/// With savepoints: a conflict undoes its own commit.
fn do_each(conn: &Connection, jobs: &[Job]) -> Result<Done, StoreError> {
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        let outcome = match &job.work {
            Work::Commit(commit) => match apply_or_undo(conn, commit)? {
                Ok(()) => Ok(Written::default()),
                Err(conflict) => Err(conflict.into()),
            },
            Work::Claim(_) if job.is_forsaken() => Ok(Written::default()),
            Work::Claim(claim) => claimed(claim.run(conn, |commit| Ok(apply_or_undo(conn, commit)?.is_ok()))),
            Work::ForgetAnswers(before) => forget_answers(conn, *before),
            Work::Look => Ok(Written::default()),
        };
        match outcome {
            Err(CommitError::Store(error)) => return Err(error),
            outcome @ (Ok(_) | Err(CommitError::Conflict(_))) => outcomes.push(outcome),
        }
    }
    Ok(Done::All(outcomes))
}

fn apply_or_undo(conn: &Connection, commit: &Commit) -> Result<Result<(), Conflict>, StoreError> {
    run_one(conn, "SAVEPOINT one")?;
    let outcome = match apply(conn, commit) {
        Ok(()) => Ok(()),
        Err(CommitError::Conflict(conflict)) => {
            run_one(conn, "ROLLBACK TO one")?;
            Err(conflict)
        }
        Err(CommitError::Store(error)) => return Err(error),
    };
    run_one(conn, "RELEASE one")?;
    Ok(outcome)
}

fn claimed(projects: Result<Vec<ProjectId>, CommitError>) -> Outcome {
    projects.map(|claimed| Written { claimed, ..Written::default() })
}

fn forget_answers(conn: &Connection, before: Timestamp) -> Outcome {
    let mut statement = conn.prepare_cached(sql::FORGET_ANSWERS).map_err(store_error)?;
    let forgotten = statement.execute(params![before.micros()]).map_err(store_error)? as u64;
    Ok(Written { forgotten, ..Written::default() })
}

fn run_one(conn: &Connection, statement: &str) -> Result<(), StoreError> {
    conn.prepare_cached(statement)
        .and_then(|mut statement| statement.execute([]))
        .map(drop)
        .map_err(store_error)
}
