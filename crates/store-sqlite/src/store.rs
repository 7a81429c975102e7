//! [`SqliteStore`]: opening, and the commit path.

use crate::{
    apply::chain_head,
    claim::Claim,
    codec,
    load::load,
    lock::{self, Holder},
    migrate::{self, MigrateError},
    readers::Readers,
    select::{all, readable},
    sql,
    write_back::{Bounds, Log, WriteBack},
    writer::{self, Job, Work, Written},
};
use async_trait::async_trait;
use cardwire_model::{Commit, Keys, ProjectId, Realm, Snapshot, Timestamp};
use cardwire_store::{CommitError, Store, StoreError, Unsealed};
use rusqlite::{Connection, OpenFlags, config::DbConfig, params};
use std::{
    fs::File,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// Connections that read at once. More than the cores of a small machine do not help.
const READERS: usize = 4;
/// Of their own for those who read logs of events: there may be thousands, and no commit waits behind them (F-25).
const LOG_READERS: usize = 2;

/// Rows that are read where they are asked for; more are left to a thread that may take its time.
const FEW_ROWS: usize = 64;

/// Pages that the writer keeps.
const WRITER_PAGES_KIB: u32 = 32_768;
/// Pages that each reader keeps, until the next commit: then all of them are dropped, which takes longer the more there were.
const READER_PAGES_KIB: u32 = 2_048;

/// A store in one file.
pub struct SqliteStore {
    pub(crate) readers: Readers,
    /// For logs of events alone.
    pub(crate) log_readers: Readers,
    writer: Mutex<Option<Writer>>,
}

struct Writer {
    jobs: mpsc::Sender<Job>,
    thread: std::thread::JoinHandle<()>,
    /// Held as long as the writer lives.
    _lock: File,
}

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the database is in use by process {}", .0.pid.map_or("unknown".to_owned(), |pid| pid.to_string()))]
    Held(Holder),
    /// Its schema is not ours.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The file system refused.
    #[error("cannot open {path}: {source}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Migrate(error.into())
    }
}

impl SqliteStore {
    /// Opens or creates the database, takes its lock and brings its schema up to date.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::File { path: path.display().to_string(), source };
        let lock = lock::take(&path.with_extension("lock")).map_err(failed)?.map_err(OpenError::Held)?;
        let mut conn = Connection::open(path)?;
        configure(&conn, WRITER_PAGES_KIB)?;
        // `synchronous=FULL` makes every commit durable before it is answered; WAL lets readers go on meanwhile.
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
        migrate::migrate(&mut conn)?;
        let log = Log::watch(&mut conn)?;
        let behind = Connection::open(path)?;
        configure(&behind, READER_PAGES_KIB)?;
        behind.execute_batch("PRAGMA synchronous = FULL")?;
        let reader = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let conn = Connection::open_with_flags(path, flags)?;
            configure(&conn, READER_PAGES_KIB)?;
            Ok(conn)
        };
        let readers = |count| (0..count).map(|_| reader()).collect::<Result<_, _>>().map(Readers::new);
        let (readers, log_readers) = (readers(READERS)?, readers(LOG_READERS)?);
        let write_back = WriteBack::start(behind, log, Bounds::USUAL).map_err(failed)?;
        let (jobs, thread) = writer::start(conn, write_back).map_err(failed)?;
        Ok(Self { readers, log_readers, writer: Mutex::new(Some(Writer { jobs, thread, _lock: lock })) })
    }

    /// Hands work to the writer and waits until it is durable.
    async fn write(&self, work: Work) -> Result<Written, CommitError> {
        let (reply, outcome) = oneshot::channel();
        self.jobs()?.send(Job { work, reply }).await.map_err(|_| closed())?;
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
        writer.as_ref().map(|writer| writer.jobs.clone()).ok_or_else(closed)
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

fn configure(conn: &Connection, pages_kib: u32) -> rusqlite::Result<()> {
    // More than there are statements, so that none is ever compiled twice.
    conn.set_prepared_statement_cache_capacity(256);
    conn.busy_timeout(Duration::from_secs(5))?;
    // Plans must not depend on bound values: otherwise statements are compiled again when those change.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "cache_size", -i64::from(pages_kib))?;
    // The file is not mapped: after every commit a reader would take its mapping down and fault each page in again, which
    // costs more than reading it.
    conn.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0")
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

    async fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        self.log_readers.close();
        if let Some(Writer { jobs, thread, _lock }) = writer {
            drop(jobs);
            // Joining may wait for a sync; not on a thread of the runtime.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_store::{Catalog, EventFilter};
    use std::{future::poll_fn, sync::mpsc::channel, task::Poll};

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
}
