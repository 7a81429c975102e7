//! [`SqliteStore`]: the commit path, and whether it is open.

use crate::{
    apply::chain_head,
    claim::Claim,
    codec,
    load::load,
    mark::KeptMark,
    readers::Readers,
    select::{all, readable},
    sql,
    writer::{Job, Work, Written},
};
use async_trait::async_trait;
use cardwire_model::{Commit, Keys, ProjectId, Realm, Snapshot, Timestamp, limits};
use cardwire_store::{CommitError, Outage, Store, StoreError, Unsealed};
use rusqlite::{Connection, params};
use std::{
    fs::File,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// Rows that are read where they are asked for; more are left to a thread that may take its time.
const FEW_ROWS: usize = 64;

/// A store in one file.
pub struct SqliteStore {
    pub(crate) readers: Readers,
    /// For logs of events alone.
    pub(crate) log_readers: Readers,
    /// How far the store was, as the file beside it tells.
    pub(crate) mark: KeptMark,
    writer: Mutex<Option<Writer>>,
    is_read_only: bool,
    /// One looks at the writer at a time.
    looking: tokio::sync::Mutex<()>,
}

pub(crate) struct Writer {
    pub(crate) jobs: mpsc::Sender<Job>,
    pub(crate) thread: std::thread::JoinHandle<()>,
    /// Held as long as the writer lives.
    pub(crate) _lock: File,
}

impl SqliteStore {
    /// A store over an open database; without a writer it is for reading alone.
    pub(crate) fn new(
        readers: Readers,
        log_readers: Readers,
        writer: Option<Writer>,
        mark: KeptMark,
    ) -> Self {
        let is_read_only = writer.is_none();
        Self {
            readers,
            log_readers,
            mark,
            writer: Mutex::new(writer),
            is_read_only,
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// Hands work to the writer and waits until it is durable.
    async fn write(&self, work: Work) -> Result<Written, CommitError> {
        let (reply, outcome) = oneshot::channel();
        let ended = |_| StoreError::CannotWrite(Outage::WriterEnded);
        self.jobs()?.send(Job { work, reply }).await.map_err(ended)?;
        outcome.await.map_err(|_| StoreError::Uncertain("the writer ended".to_owned()))?
    }

    /// Looks on a reader first, so that workers who wait for work neither hold up the writer nor each other.
    pub(crate) async fn claim_rows(&self, claim: Claim) -> Result<Vec<ProjectId>, CommitError> {
        let claim = Arc::new(claim);
        let look = Arc::clone(&claim);
        if self.readers.read(move |conn| look.finds_any(conn)).await? {
            self.write(Work::Claim(claim)).await.map(|written| written.claimed)
        } else {
            Ok(vec![])
        }
    }

    fn jobs(&self) -> Result<mpsc::Sender<Job>, StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        match &*writer {
            Some(writer) => Ok(writer.jobs.clone()),
            None if self.is_read_only => Err(StoreError::CannotWrite(Outage::ReadOnly)),
            None => Err(closed()),
        }
    }

    /// Has the writer get round to nothing at all, and say why a write would not go through.
    async fn look(&self) -> Result<(), StoreError> {
        let _alone = self.looking.lock().await;
        match self.write(Work::Look).await {
            Ok(_) => Ok(()),
            Err(CommitError::Store(StoreError::Uncertain(_))) => {
                Err(StoreError::CannotWrite(Outage::WriterEnded))
            }
            Err(CommitError::Store(error)) => Err(error),
            Err(CommitError::Conflict(conflict)) => Err(StoreError::Internal(conflict.to_string())),
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

#[async_trait]
impl Store for SqliteStore {
    async fn load(&self, realm: &Realm, keys: &Keys) -> Result<Snapshot, StoreError> {
        if keys.rows() <= FEW_ROWS {
            return self.readers.rows(|conn| load(conn, realm.key(), keys)).await;
        }
        let (realm, keys) = (realm.key().to_owned(), keys.clone());
        self.readers.read(move |conn| load(conn, &realm, &keys)).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.write(Work::Commit(Box::new(commit))).await.map(drop)
    }

    async fn number_events(&self) -> Result<u64, StoreError> {
        // The writer numbers events while it commits.
        self.jobs().map(|_| 0)
    }

    async fn unsealed_audit(&self, limit: usize) -> Result<Vec<Unsealed>, StoreError> {
        let find = move |conn: &Connection| {
            let realms: Vec<String> = all(conn, sql::UNSEALED_REALMS, [], |row| row.get(0))?;
            let mut found = Vec::with_capacity(realms.len());
            for key in realms {
                // What cannot be read cannot be sealed, and nothing after it; other realms go on.
                let rows = all(conn, sql::UNSEALED_AUDIT, params![key, limit as i64], codec::audit);
                if let Some(rows) = readable(rows, &key)? {
                    found.push((chain_head(conn, &key)?, rows, key));
                }
            }
            Ok(found)
        };
        let damaged = |key: &str| StoreError::Damaged(format!("audit row of realm {key:?}"));
        let found = self.readers.read(find).await?;
        found
            .into_iter()
            .map(|(head, rows, key)| {
                Realm::from_key(&key).map(|realm| Unsealed { realm, head, rows }).map_err(|_| damaged(&key))
            })
            .collect()
    }

    async fn forget_answers(&self, before: Timestamp) -> Result<u64, StoreError> {
        match self.write(Work::ForgetAnswers(before)).await {
            Ok(written) => Ok(written.forgotten),
            Err(CommitError::Store(error)) => Err(error),
            // It relies on nothing that could have changed.
            Err(CommitError::Conflict(conflict)) => Err(StoreError::Internal(conflict.to_string())),
        }
    }

    async fn ready(&self) -> Result<(), StoreError> {
        let looked = tokio::time::timeout(Duration::from_secs(limits::READY_SECONDS), self.look()).await;
        looked.unwrap_or(Err(StoreError::CannotWrite(Outage::Silent)))
    }

    async fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        self.log_readers.close();
        if let Some(Writer { jobs, thread, _lock }) = writer {
            drop(jobs);
            // Joining may wait for a sync; not on a thread of the runtime.
            if let Ok(Err(_)) = tokio::task::spawn_blocking(move || thread.join()).await {
                tracing::error!("what writes to the store had ended before it was told to");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::{LOG_READERS, READERS};
    use cardwire_store::{Catalog, EventFilter};
    use std::{future::poll_fn, sync::mpsc::channel, task::Poll, time::Duration};

    /// Reads while so many others hold connections of a pool.
    async fn beside(readers: &Readers, count: usize, read: impl Future<Output = ()>) {
        let (mut ends, mut reads) = (vec![], vec![]);
        for _ in 0..count {
            let (end, ended) = channel::<()>();
            ends.push(end);
            reads.push(Box::pin(readers.read(move |_| {
                // Until the sender is dropped.
                let _ = ended.recv();
                Ok(())
            })));
        }
        poll_fn(|context| {
            assert!(reads.iter_mut().all(|read| read.as_mut().poll(context).is_pending()));
            Poll::Ready(())
        })
        .await;
        tokio::time::timeout(Duration::from_secs(5), read).await.expect("it does not wait");
        drop(ends);
        for read in reads {
            read.await.unwrap();
        }
    }

    /// F-25: neither waits for the other, however many there are.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn logs_and_everything_else_are_read_apart() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("it.db")).unwrap();
        let project: ProjectId = "p".parse().unwrap();
        let logs = async {
            store.last_position(&project).await.unwrap();
            store.events(&project, 0, &EventFilter::default(), 1).await.unwrap();
            store.last_positions(std::slice::from_ref(&project)).await.unwrap();
        };
        beside(&store.readers, READERS, logs).await;
        beside(&store.log_readers, LOG_READERS, async { drop(store.project(&project).await.unwrap()) }).await;
        store.close().await;
    }

    /// F-23: closed is what somebody wanted; ended is not.
    #[tokio::test]
    async fn a_writer_that_has_ended_is_told_by_every_write_and_by_readiness() {
        let readers = || Readers::open(1, Box::new(Connection::open_in_memory)).unwrap();
        let (jobs, taken) = mpsc::channel(1);
        let thread = std::thread::spawn(move || drop(taken));
        while !thread.is_finished() {
            std::thread::yield_now();
        }
        let writer = Writer { jobs, thread, _lock: tempfile::tempfile().unwrap() };
        let store = SqliteStore::new(readers(), readers(), Some(writer), KeptMark::default());
        let ended: Result<(), _> = Err(StoreError::CannotWrite(Outage::WriterEnded));
        let told = [store.ready().await, store.forget_answers(Timestamp::from_micros(0)).await.map(drop)];
        for told in told {
            assert_eq!(format!("{told:?}"), format!("{ended:?}"));
        }
        store.close().await;
        assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
    }
}
