//! Writing the log back into the database file. SQLite would do it within a commit, and everybody would wait for a copy of
//! tens of megabytes and two syncs. Here a thread of its own does the bulk of it while commits go on; the writer only does
//! the little that has come since, after which the log begins anew.

use crate::pulse::Pulse;
use cardwire_model::limits;
use rusqlite::{Connection, hooks::Wal};
use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::JoinHandle,
    time::Duration,
};

/// When the log is written back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// At this length in pages.
    begin: i64,
    /// The writer writes back so many pages by itself, without being missed.
    few: i64,
    /// Commits wait for it: a disk that cannot keep up must not fill with its log.
    most: i64,
    /// The thread looks so often, besides when it is asked.
    look_every: Duration,
    /// At every so many looks, however short the log is: who takes the log away takes no more than that.
    looks: u64,
}

impl Bounds {
    /// 64 MB, 4 MB, 512 MB, and every ten seconds.
    pub(crate) const USUAL: Self = Self {
        begin: 16_000,
        few: 1_000,
        most: 128_000,
        look_every: Duration::from_secs(limits::MARK_SECONDS),
        looks: limits::LOG_SECONDS / limits::MARK_SECONDS,
    };
}

/// Rounds of the thread; each leaves what came during the one before.
const ROUNDS: usize = 4;

/// The log as of the last commit.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<LogState>);

#[derive(Default)]
struct LogState {
    pages: AtomicI64,
    commits: AtomicU64,
}

impl Log {
    /// Of the connection that writes.
    pub(crate) fn watch(writer: &mut Connection) -> rusqlite::Result<Self> {
        let log = Self::default();
        let seen = log.clone();
        writer.wal_hook(Some(move |_: &mut Wal, count: i32| {
            seen.0.pages.store(i64::from(count), Ordering::Relaxed);
            seen.0.commits.fetch_add(1, Ordering::Release);
            Ok(())
        }))?;
        Ok(log)
    }

    fn pages(&self) -> i64 {
        self.0.pages.load(Ordering::Relaxed)
    }

    /// How many transactions have been written.
    pub(crate) fn commits(&self) -> u64 {
        self.0.commits.load(Ordering::Acquire)
    }
}

/// Whether the thread was asked and has not ended yet.
#[derive(Default)]
struct AtWork {
    is: Mutex<bool>,
    ended: Condvar,
}

impl AtWork {
    fn set(&self, is: bool) {
        *self.is.lock().unwrap_or_else(PoisonError::into_inner) = is;
        self.ended.notify_all();
    }

    fn is(&self) -> bool {
        *self.is.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_while(is, |is| *is).unwrap_or_else(PoisonError::into_inner));
    }
}

/// The thread, as the writer knows it.
pub(crate) struct WriteBack {
    log: Log,
    bounds: Bounds,
    pulse: Arc<Pulse>,
    begin: Option<mpsc::SyncSender<()>>,
    at_work: Arc<AtWork>,
    /// Little is left, for the writer to do.
    nearly: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WriteBack {
    /// Starts the thread. `look` runs on it at every look, and once more when it ends.
    pub(crate) fn start(
        conn: Connection,
        log: Log,
        bounds: Bounds,
        pulse: Arc<Pulse>,
        mut look: impl FnMut(&Connection) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (begin, asked) = mpsc::sync_channel(1);
        let (at_work, nearly) = <(Arc<AtWork>, Arc<AtomicBool>)>::default();
        let (working, done) = (Arc::clone(&at_work), Arc::clone(&nearly));
        let behind = Behind { conn, log: log.clone(), bounds, pulse: Arc::clone(&pulse), seen: 0 };
        let work = move || {
            let mut behind = behind;
            for looks in 1_u64.. {
                match asked.recv_timeout(bounds.look_every) {
                    Ok(()) => {
                        done.store(behind.leaves_little(), Ordering::Release);
                        working.set(false);
                    }
                    Err(RecvTimeoutError::Timeout) if looks % bounds.looks == 0 => behind.keep_short(),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                look(&behind.conn);
            }
            look(&behind.conn);
        };
        let thread = std::thread::Builder::new().name("cardwire-log".to_owned()).spawn(work)?;
        Ok(Self { log, bounds, pulse, begin: Some(begin), at_work, nearly, thread: Some(thread) })
    }

    /// Between two transactions of the writer. What goes wrong here is tried again after a later one: the log is kept, so
    /// that nothing is lost by it. The pulse tells of it.
    pub(crate) fn look(&self, writer: &Connection) {
        let pages = self.log.pages();
        if pages >= self.bounds.most {
            self.at_work.wait();
            written_back(writer, &self.pulse);
        } else if self.nearly.swap(false, Ordering::Acquire) {
            written_back(writer, &self.pulse);
        } else if pages >= self.bounds.begin && !self.at_work.is() {
            self.at_work.set(true);
            if self.begin.as_ref().is_none_or(|begin| begin.try_send(()).is_err()) {
                self.at_work.set(false);
            }
        }
    }
}

/// What the thread works with.
struct Behind {
    conn: Connection,
    log: Log,
    bounds: Bounds,
    pulse: Arc<Pulse>,
    /// Transactions that are written back.
    seen: u64,
}

impl Behind {
    /// Writes back while commits go on. Answers whether little is left.
    fn leaves_little(&self) -> bool {
        let written = (0..ROUNDS).map_while(|_| written_back(&self.conn, &self.pulse));
        // SQLite tells how long the log was when it began; more has come since.
        { written }.any(|written| self.log.pages() - written <= self.bounds.few)
    }

    /// Writes back what has come since the last time, and again what failed.
    fn keep_short(&mut self) {
        let commits = self.log.commits();
        if (commits != self.seen || self.pulse.log_failed())
            && written_back(&self.conn, &self.pulse).is_some()
        {
            self.seen = commits;
        }
    }
}

impl Drop for WriteBack {
    fn drop(&mut self) {
        self.begin = None;
        if let Some(thread) = self.thread.take() {
            // One that has panicked has nothing left to do.
            let _ = thread.join();
        }
    }
}

/// Writes back what can be. Answers how many pages of the log are; nothing if it failed.
fn written_back(conn: &Connection, pulse: &Pulse) -> Option<i64> {
    let written = conn
        .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")
        .and_then(|mut statement| statement.query_one([], |row| row.get(2)));
    pulse.log_ended(written.as_ref().map(|_| ()));
    written.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::DatabaseFiles;
    use std::{
        path::{Path, PathBuf},
        time::Instant,
    };
    use tempfile::TempDir;

    const SMALL: Bounds =
        Bounds { begin: 100, few: 20, most: 400, look_every: Duration::from_secs(3_600), looks: 1 };

    fn open(path: &Path) -> Connection {
        let conn = Connection::open(path).unwrap();
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS t (x)",
        )
        .unwrap();
        conn
    }

    fn set_up(bounds: Bounds) -> (TempDir, PathBuf, Connection, WriteBack) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let mut writer = open(&path);
        let log = Log::watch(&mut writer).unwrap();
        let pulse = Arc::new(Pulse::new(DatabaseFiles::of(&path).unwrap(), log.clone()));
        let behind = Connection::open(&path).unwrap();
        let write_back = WriteBack::start(behind, log, bounds, pulse, |_| ()).unwrap();
        (folder, path, writer, write_back)
    }

    /// Commits so often, at least one page each, and answers how long the log was at most.
    fn commit(writer: &Connection, write_back: &WriteBack, times: usize) -> i64 {
        let mut longest = 0;
        for _ in 0..times {
            writer.execute("INSERT INTO t VALUES (zeroblob(5000))", []).unwrap();
            write_back.look(writer);
            longest = longest.max(write_back.log.pages());
        }
        longest
    }

    /// By the thread alone: the writer is never made to wait.
    #[test]
    fn the_log_begins_anew_while_commits_go_on() {
        let (_folder, path, writer, write_back) = set_up(Bounds { most: i64::MAX, ..SMALL });
        let (mut commits, mut before) = (0, 0);
        while write_back.log.pages() >= before {
            assert!(commits < 100_000, "{before} pages");
            before = write_back.log.pages();
            commit(&writer, &write_back, 1);
            commits += 1;
        }
        assert!(before >= SMALL.begin, "{before} pages");
        drop(write_back);
        drop(writer);
        let count: i64 = open(&path).query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(count, commits);
    }

    /// A disk that cannot keep up: nobody but the writer writes back, and it does.
    #[test]
    fn commits_wait_when_the_log_is_longest() {
        let (_folder, _, writer, write_back) = set_up(Bounds { begin: i64::MAX, ..SMALL });
        let longest = commit(&writer, &write_back, 1_000);
        assert!((SMALL.most..SMALL.most + 10).contains(&longest), "{longest} pages");
    }

    /// A reader that stays keeps the log from beginning anew, and no longer.
    #[test]
    fn a_long_read_makes_the_log_longer_and_harms_nothing() {
        let (_folder, path, writer, write_back) = set_up(SMALL);
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        assert!(commit(&writer, &write_back, 1_000) > 2 * SMALL.most);
        reader.execute_batch("COMMIT").unwrap();
        commit(&writer, &write_back, 200);
        assert!(write_back.log.pages() <= SMALL.most, "{}", write_back.log.pages());
    }

    /// F-35: after a few commits and a moment, the database has what is in its log.
    #[test]
    fn a_short_log_is_written_back_after_a_while() {
        let bounds = Bounds { look_every: Duration::from_millis(10), looks: 3, ..SMALL };
        let (folder, path, writer, write_back) = set_up(bounds);
        commit(&writer, &write_back, 5);
        let alone = folder.path().join("alone.db");
        let deadline = Instant::now() + Duration::from_secs(20);
        let count = || {
            std::fs::copy(&path, &alone).unwrap();
            let _ = std::fs::remove_file(folder.path().join("alone.db-wal"));
            Connection::open(&alone).unwrap().query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        };
        while count() != Ok(5) {
            assert!(Instant::now() < deadline, "{:?}", count());
            std::thread::yield_now();
        }
    }
}
