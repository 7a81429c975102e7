//! SQLite: the store in one file, the raw limit in another one beside it.
//!
//! The raw side is one connection in one thread with one prepared statement, at the store's own durability and
//! checkpoint interval. More threads would only wait for each other: SQLite has one writer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use cardwire_model::{BoxId, ProjectId};
use cardwire_store::Store;
use cardwire_store_sqlite::SqliteStore;
use rusqlite::{Connection, OpenFlags, params};

use crate::database::Database;
use crate::measure::{self, CpuTicks};
use crate::plain_card::{BOX_ROWS, PlainCard};

const ROWS: &str = include_str!("../sql/rows_sqlite.sql");
const FILL: &str = include_str!("../sql/fill_sqlite.sql");

/// A page and its header in the write-ahead log.
const FRAME_BYTES: f64 = 4096.0 + 24.0;

pub(crate) struct Sqlite {
    store: Arc<SqliteStore>,
    writer: Arc<Mutex<Connection>>,
    reader: Arc<Mutex<Connection>>,
    dir: PathBuf,
}

impl Sqlite {
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("cardwire.db");
        Ok(Self {
            store: Arc::new(SqliteStore::open(&path)?),
            writer: Arc::new(Mutex::new(raw_writer(dir.join("raw.db"))?)),
            reader: Arc::new(Mutex::new(raw_reader(path)?)),
            dir: dir.to_owned(),
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name).with_extension("db")
    }

    /// Runs something on the reading connection, outside the runtime's own threads.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        on_thread(&self.reader, read).await
    }
}

async fn on_thread<T: Send + 'static>(
    connection: &Arc<Mutex<Connection>>,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let connection = Arc::clone(connection);
    let work = move || work(&connection.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(tokio::task::spawn_blocking(work).await??)
}

/// While the log's file still grows, every sync makes the file system write its own log too, which costs several
/// times as much. The store's log has its full length by the time it is measured, so this one gets it at once.
fn raw_writer(path: PathBuf) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 16000;
         CREATE TABLE raw_commits (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
         CREATE TABLE filler AS
             WITH RECURSIVE pages (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM pages WHERE n < 16500)
             SELECT zeroblob(4000) FROM pages",
    )?;
    Ok(connection)
}

fn raw_reader(path: PathBuf) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // As large as the store's own readers have it.
    connection.execute_batch("PRAGMA cache_size = -32768; PRAGMA mmap_size = 268435456")?;
    Ok(connection)
}

#[async_trait]
impl Database for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn commit_target(&self) -> f64 {
        0.8
    }

    fn turn_target(&self) -> f64 {
        0.15
    }

    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn unit_bytes(&self) -> f64 {
        FRAME_BYTES
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    async fn raw_commits(&self, _writers: usize, time: Duration) -> anyhow::Result<f64> {
        let commit = move |connection: &Connection| {
            let mut insert = connection.prepare_cached("INSERT INTO raw_commits (note) VALUES (?1)")?;
            let (begun, mut commits) = (Instant::now(), 0_u64);
            while begun.elapsed() < time {
                insert.execute(["one small row"])?;
                commits += 1;
            }
            Ok(commits as f64 / begun.elapsed().as_secs_f64())
        };
        on_thread(&self.writer, commit).await
    }

    async fn raw_read(&self, project: &ProjectId, box_id: BoxId) -> anyhow::Result<(Duration, usize)> {
        let (project, box_id) = (project.as_str().to_owned(), box_id.uuid().into_bytes());
        let select = move |connection: &Connection| {
            let begun = Instant::now();
            let mut select = connection.prepare_cached(BOX_ROWS)?;
            let cards: Vec<PlainCard> = select
                .query_map(params![project, box_id], PlainCard::from_sqlite)?
                .collect::<Result<_, _>>()?;
            Ok((begun.elapsed(), std::hint::black_box(cards).len()))
        };
        self.read(select).await
    }

    async fn settle(&self) -> anyhow::Result<()> {
        // The store analyses when it closes, and its log is emptied as it grows.
        Ok(())
    }

    async fn rows(&self) -> anyhow::Result<u64> {
        let count = |connection: &Connection| {
            connection.prepare_cached(ROWS)?.query_row([], |row| row.get::<_, i64>(0))
        };
        Ok(u64::try_from(self.read(count).await?)?)
    }

    async fn bytes(&self) -> anyhow::Result<u64> {
        measure::written_bytes()
    }

    async fn open(&self, name: &str) -> anyhow::Result<Arc<dyn Store>> {
        let path = self.file(name);
        Ok(Arc::new(tokio::task::spawn_blocking(move || SqliteStore::open(&path)).await??))
    }

    fn location(&self, name: &str) -> anyhow::Result<String> {
        Ok(self.file(name).to_str().context("the path is no text")?.to_owned())
    }

    async fn fill(&self, name: &str, agents: usize, turns: usize) -> anyhow::Result<()> {
        let fill = FILL.replace("{agents}", &agents.to_string()).replace("{turns}", &turns.to_string());
        let path = self.file(name);
        let work = move || {
            let connection = Connection::open(path)?;
            connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")?;
            connection.execute_batch(&fill)?;
            connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        };
        Ok(tokio::task::spawn_blocking(work).await??)
    }

    async fn drop(&self, name: &str) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.file(name))?)
    }

    async fn cpu(&self) -> anyhow::Result<CpuTicks> {
        let own = std::process::id();
        Ok(HashMap::from([(own, measure::process_ticks(own)?)]))
    }
}
