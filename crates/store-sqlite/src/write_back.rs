//! Writing the log back into the database file. SQLite would do it within a commit, and everybody would wait for a copy of
//! tens of megabytes and two syncs. Here a thread of its own does the bulk of it while commits go on; the writer only does
//! the little that has come since, after which the log begins anew.

use rusqlite::{Connection, hooks::Wal};
use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

/// Lengths of the log, in pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// It is written back.
    begin: i64,
    /// The writer writes back so many by itself, without being missed.
    few: i64,
    /// Commits wait for it: a disk that cannot keep up must not fill with its log.
    most: i64,
}

impl Bounds {
    /// 64 MB, 4 MB, 512 MB.
    pub(crate) const USUAL: Self = Self { begin: 16_000, few: 1_000, most: 128_000 };
}

/// Rounds of the thread; each leaves what came during the one before.
const ROUNDS: usize = 4;

/// How long the log is, as of the last commit.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<AtomicI64>);

impl Log {
    /// Of the connection that writes.
    pub(crate) fn watch(writer: &mut Connection) -> rusqlite::Result<Self> {
        let log = Self::default();
        let pages = log.clone();
        writer.wal_hook(Some(move |_: &mut Wal, count: i32| {
            pages.0.store(i64::from(count), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(log)
    }

    fn pages(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
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
    begin: Option<mpsc::SyncSender<()>>,
    at_work: Arc<AtWork>,
    /// Little is left, for the writer to do.
    nearly: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WriteBack {
    pub(crate) fn start(conn: Connection, log: Log, bounds: Bounds) -> std::io::Result<Self> {
        let (begin, asked) = mpsc::sync_channel(1);
        let (at_work, nearly) = <(Arc<AtWork>, Arc<AtomicBool>)>::default();
        let (working, done, pages) = (Arc::clone(&at_work), Arc::clone(&nearly), log.clone());
        let work = move || {
            while asked.recv().is_ok() {
                let leaves_little = |_| {
                    // SQLite tells how long the log was when it began; more has come since.
                    written_back(&conn).is_some_and(|written| pages.pages() - written <= bounds.few)
                };
                done.store((0..ROUNDS).any(leaves_little), Ordering::Release);
                working.set(false);
            }
        };
        let thread = std::thread::Builder::new().name("cardwire-log".to_owned()).spawn(work)?;
        Ok(Self { log, bounds, begin: Some(begin), at_work, nearly, thread: Some(thread) })
    }

    /// Between two transactions of the writer. What goes wrong here is tried again after a later one: the log is kept, so
    /// that nothing is lost by it.
    pub(crate) fn look(&self, writer: &Connection) {
        let pages = self.log.pages();
        if pages >= self.bounds.most {
            self.at_work.wait();
            written_back(writer);
        } else if self.nearly.swap(false, Ordering::Acquire) {
            written_back(writer);
        } else if pages >= self.bounds.begin && !self.at_work.is() {
            self.at_work.set(true);
            if self.begin.as_ref().is_none_or(|begin| begin.try_send(()).is_err()) {
                self.at_work.set(false);
            }
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

/// Writes back what can be. Answers how many pages of the log are.
fn written_back(conn: &Connection) -> Option<i64> {
    let mut statement = conn.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)").ok()?;
    statement.query_one([], |row| row.get(2)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use tempfile::TempDir;

    const SMALL: Bounds = Bounds { begin: 100, few: 20, most: 400 };

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
        let write_back = WriteBack::start(Connection::open(&path).unwrap(), log, bounds).unwrap();
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
}
