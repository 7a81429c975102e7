//! Opening a database: for writing, after what it has was compared with what was acknowledged; or for reading alone, which
//! changes nothing at all.
//!
//! Invariant: a database that has lost something acknowledged is left as it is until somebody accepts the loss (NF-01).

use crate::{
    files::{self, DatabaseFiles, beside},
    lock::{self, Holder},
    mark::{self, KeptMark, Mark, MarkKeeper},
    migrate::{self, MigrateError},
    pulse::Pulse,
    readers::Readers,
    store::{SqliteStore, Writer},
    write_back::{Bounds, Log, WriteBack},
    writer,
};
use cardwire_store::Reach;
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

/// Connections that read at once. More than the cores of a small machine do not help.
pub(crate) const READERS: usize = 4;
/// Of their own for those who read logs of events: there may be thousands, and no commit waits behind them (F-25).
pub(crate) const LOG_READERS: usize = 2;

/// Pages that the writer keeps.
const WRITER_PAGES_KIB: u32 = 32_768;
/// Pages that each reader keeps, until the next commit: then all of them are dropped, which takes longer the more there were.
const READER_PAGES_KIB: u32 = 2_048;

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the database is in use by process {}", .0.pid.map_or("unknown".to_owned(), |pid| pid.to_string()))]
    Held(Holder),
    /// Its schema is not ours.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// What is kept beside a database is there, and the database is not.
    #[error("`{}` is there without the database it belongs to, `{}`", .left.display(), .database.display())]
    Missing {
        /// The database.
        database: PathBuf,
        /// What is left of it.
        left: PathBuf,
    },
    /// Commits that were acknowledged are not there.
    #[error("the store has lost commits: {0}")]
    Behind(Reach),
    /// The mark cannot be read, so that nothing can be compared with it.
    #[error("the mark of how far the store was, `{}`, cannot be read: {source}", .path.display())]
    Mark {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Database and log do not make sense together.
    #[error("the database and its log do not fit together: {0}")]
    Inconsistent(String),
    /// The file system refused.
    #[error("cannot open {path}: {source}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Migrate(error.into())
    }
}

/// What to do about commits that are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Refuse to open the database.
    Refused,
    /// Go on with what is there.
    Accepted,
}

impl SqliteStore {
    /// Opens or creates the database, takes its lock and brings its schema up to date. One that lost commits is refused.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, Loss::Refused)
    }

    /// The same with a decision about lost commits.
    pub fn open_with(path: &Path, loss: Loss) -> Result<Self, OpenError> {
        let failed = |source| OpenError::File { path: path.display().to_string(), source };
        refuse_remains(path)?;
        let lock = lock::take(&path.with_extension("lock")).map_err(failed)?.map_err(OpenError::Held)?;
        let has_log =
            files::length(&beside(&real(path), "-wal")).map_err(failed)?.is_some_and(|length| length > 0);
        let mut conn = Connection::open(path)?;
        // What is refused is left as it is: the log is neither written back nor removed.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        configure(&conn, WRITER_PAGES_KIB)?;
        let mark = match loss {
            Loss::Refused => whole(path, &conn, has_log)?,
            Loss::Accepted => forget(path, &conn)?,
        };
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        // `synchronous=FULL` makes every commit durable before it is answered; WAL lets readers go on meanwhile.
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
        migrate::migrate(&mut conn)?;
        let log = Log::watch(&mut conn)?;
        let behind = Connection::open(path)?;
        configure(&behind, READER_PAGES_KIB)?;
        behind.execute_batch("PRAGMA synchronous = FULL")?;
        let readers = |count| {
            let at = path.to_owned();
            Readers::open(count, Box::new(move || reader(&at)))
        };
        let (readers, log_readers) = (readers(READERS)?, readers(LOG_READERS)?);
        let kept = KeptMark::new(Mutex::new(mark));
        let opened = DatabaseFiles::of(&real(path)).map_err(failed)?;
        let pulse = Arc::new(Pulse::new(opened, log.clone()));
        let keeper = MarkKeeper::new(mark::path_of(path), Arc::clone(&kept));
        let look = look(Arc::clone(&pulse), keeper);
        let write_back =
            WriteBack::start(behind, log, Bounds::USUAL, Arc::clone(&pulse), look).map_err(failed)?;
        let (jobs, thread) = writer::start(conn, write_back, pulse).map_err(failed)?;
        Ok(Self::new(readers, log_readers, Some(Writer { jobs, thread, _lock: lock }), kept))
    }

    /// Opens a database for reading, also one that lost commits or that this process may not write. Nothing is written: no
    /// lock, no schema, not even what SQLite keeps beside a database. The caller sees to it that nobody writes meanwhile.
    pub fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        refuse_remains(path)?;
        if let Some(holder) = lock::holder(&path.with_extension("lock")) {
            return Err(OpenError::Held(holder));
        }
        let conn = reader_alone(path)?;
        migrate::check(&conn)?;
        // One that makes no sense tells nothing, which is no reason not to read what there is.
        let mark = load_mark(path).unwrap_or_default();
        let readers = |count| {
            let at = path.to_owned();
            Readers::open(count, Box::new(move || reader_alone(&at)))
        };
        Ok(Self::new(readers(READERS)?, readers(LOG_READERS)?, None, KeptMark::new(Mutex::new(mark))))
    }
}

/// What the thread does every second beside the log: it lets the pulse try again, and moves the mark.
fn look(pulse: Arc<Pulse>, mut keeper: MarkKeeper) -> impl FnMut(&Connection) + Send + 'static {
    move |conn| {
        pulse.tick();
        if let Some(realm) = pulse.take_moved()
            && !keeper.keep(conn, &realm)
        {
            pulse.put_moved(realm);
        }
    }
}

/// A database that is not there, or empty, is made anew, unless something says that there was one.
fn refuse_remains(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::File { path: path.display().to_string(), source };
    if files::length(path).map_err(failed)?.is_some_and(|length| length > 0) {
        return Ok(());
    }
    for left in [beside(path, "-wal"), mark::path_of(path)] {
        if files::length(&left).map_err(failed)?.is_some_and(|length| length > 0) {
            return Err(OpenError::Missing { database: path.to_owned(), left });
        }
    }
    Ok(())
}

/// Where the file itself is: SQLite keeps the log beside that, not beside a link to it.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn load_mark(path: &Path) -> Result<Option<Mark>, OpenError> {
    let path = mark::path_of(path);
    Mark::load(&path).map_err(|source| OpenError::Mark { path, source })
}

/// Makes sure that everything is there that the mark tells of. Without a mark, as in a copy of the database alone, that
/// cannot be known; but a log that belongs to another database would be found by SQLite's own check.
fn whole(path: &Path, conn: &Connection, has_log: bool) -> Result<Option<Mark>, OpenError> {
    let mark = load_mark(path)?;
    match &mark {
        Some(mark) => {
            let reach = mark.reach(conn)?;
            if !reach.is_whole() {
                return Err(OpenError::Behind(reach));
            }
        }
        None if has_log => {
            let found: String = match conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)) {
                Err(error) if is_corrupt(&error) => error.to_string(),
                found => found?,
            };
            if found != "ok" {
                return Err(OpenError::Inconsistent(found));
            }
        }
        None => {}
    }
    Ok(mark)
}

fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Gives up what the mark tells of and the database has not. The next commit makes a new mark.
fn forget(path: &Path, conn: &Connection) -> Result<Option<Mark>, OpenError> {
    match whole(path, conn, false) {
        Err(error @ (OpenError::Behind(_) | OpenError::Mark { .. })) => {
            tracing::warn!(%error, "the loss is accepted");
            let path = mark::path_of(path);
            fs::remove_file(&path)
                .map_err(|source| OpenError::File { path: path.display().to_string(), source })?;
            Ok(None)
        }
        outcome => outcome,
    }
}

/// A connection of the pool.
fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn, READER_PAGES_KIB)?;
    Ok(conn)
}

/// A connection that is alone with the files: without locks and with the index of the log in its own memory, it needs to
/// write nothing, and reads a log also where nothing may be written.
fn reader_alone(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    #[cfg(unix)]
    let conn = Connection::open_with_flags_and_vfs(path, flags, "unix-none")?;
    #[cfg(not(unix))]
    let conn = Connection::open_with_flags(path, flags)?;
    conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    configure(&conn, READER_PAGES_KIB)?;
    Ok(conn)
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
