//! [`Pulse`]: what the writer tells of itself, so that somebody else can say whether a write would go through now (F-23).
//!
//! Must not decide what is written. Invariant: the pulse is good only if the last write went through, the files are those
//! that were opened, and the log is written back.

use crate::{files::DatabaseFiles, write_back::Log};
use cardwire_model::{Realm, limits};
use cardwire_store::{Outage, StoreError};
use rusqlite::Connection;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Writes as much as a usual commit, and leaves nothing: what fits into the last free page of a disk proves nothing. Pages
/// that are freed are written only because they are wiped.
const TRY: &str = "PRAGMA secure_delete = ON; BEGIN IMMEDIATE; CREATE TABLE cardwire_try (x);
    INSERT INTO cardwire_try VALUES (zeroblob(65536)); DROP TABLE cardwire_try; COMMIT";
const AFTER: &str = "PRAGMA secure_delete = OFF";
const GIVE_UP: &str = "ROLLBACK; PRAGMA secure_delete = OFF";

/// What is known of the writer.
pub(crate) struct Pulse {
    files: DatabaseFiles,
    log: Log,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why the last write failed, if none has gone through since.
    failing: Option<Outage>,
    /// It may be tried whether one goes through again.
    may_try: bool,
    /// Transactions in the log when it was last looked.
    commits: u64,
    /// How often in a row the log could not be written back.
    log_failures: u32,
    /// Whose logs were written last, since the mark was moved.
    moved: Option<Realm>,
}

impl Pulse {
    pub(crate) fn new(files: DatabaseFiles, log: Log) -> Self {
        Self { files, log, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing must be written, whether or not it would go through.
    pub(crate) fn refusal(&self) -> Option<Outage> {
        (!self.files.are_there()).then_some(Outage::FilesGone)
    }

    /// Why a write would not go through.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let State { failing, log_failures, .. } = *self.state();
        let log_grows = (log_failures >= limits::LOG_FAILURES).then_some(Outage::LogGrows);
        self.refusal().or(failing).or(log_grows)
    }

    /// A transaction has ended. One in which nothing was written proves nothing.
    pub(crate) fn ended(&self, error: Option<&StoreError>) {
        let mut state = self.state();
        let commits = self.log.commits();
        let wrote = std::mem::replace(&mut state.commits, commits) != commits;
        let failing = match error {
            Some(StoreError::CannotWrite(outage)) => Some(*outage),
            None if wrote => None,
            None | Some(_) => return,
        };
        if failing == state.failing {
            return;
        }
        match failing {
            Some(outage) => {
                state.may_try |= state.failing.is_none();
                tracing::error!(%outage, "no write goes through");
            }
            None => tracing::info!("writes go through again"),
        }
        state.failing = failing;
    }

    /// Tries to write, at most once a second, if the last write failed: in a store that nobody writes to any more nothing
    /// else would tell that the fault has ended.
    pub(crate) fn try_again(&self, writer: &Connection) {
        let mut state = self.state();
        if state.failing.is_none() || !std::mem::take(&mut state.may_try) {
            return;
        }
        drop(state);
        let tried = writer.execute_batch(TRY);
        // What is left open is reported by the next BEGIN.
        let _ = writer.execute_batch(if writer.is_autocommit() { AFTER } else { GIVE_UP });
        self.ended(tried.err().map(crate::error::store_error).as_ref());
    }

    /// Another second has gone by.
    pub(crate) fn tick(&self) {
        self.state().may_try = true;
    }

    /// The last of what was written was told in the logs of this realm.
    pub(crate) fn moved(&self, realm: Realm) {
        self.state().moved = Some(realm);
    }

    /// Whose logs were written last since this was asked.
    pub(crate) fn take_moved(&self) -> Option<Realm> {
        self.state().moved.take()
    }

    /// Gives back what could not be used, unless there is something newer.
    pub(crate) fn put_moved(&self, realm: Realm) {
        self.state().moved.get_or_insert(realm);
    }

    /// The log was written back, as far as it could be, or not.
    pub(crate) fn log_ended(&self, outcome: Result<(), &rusqlite::Error>) {
        let mut state = self.state();
        match outcome {
            Ok(()) => state.log_failures = 0,
            Err(error) => {
                state.log_failures = state.log_failures.saturating_add(1);
                // The first, the second, the fourth, the eighth: a disk that fails for days fills no log of ours.
                if state.log_failures.is_power_of_two() {
                    let times = state.log_failures;
                    tracing::error!(%error, times, "the store's log cannot be written back into its database");
                }
            }
        }
    }

    /// Whether the log could not be written back the last time.
    pub(crate) fn log_failed(&self) -> bool {
        self.state().log_failures > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn pulse() -> (Pulse, tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let mut conn = Connection::open(&path).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        let log = Log::watch(&mut conn).unwrap();
        (Pulse::new(DatabaseFiles::of(&path).unwrap(), log), folder, conn)
    }

    /// F-23
    #[test]
    fn a_log_that_stays_is_an_outage_after_so_many_failures_and_none_before() {
        let (pulse, _folder, _conn) = pulse();
        let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
        for _ in 1..limits::LOG_FAILURES {
            pulse.log_ended(Err(&failure));
        }
        assert_eq!(pulse.outage(), None);
        pulse.log_ended(Err(&failure));
        assert_eq!(pulse.outage(), Some(Outage::LogGrows));
        pulse.log_ended(Ok(()));
        assert_eq!(pulse.outage(), None);
    }

    /// F-34
    #[test]
    fn a_failure_lasts_until_something_is_written_and_is_tried_once_a_second() {
        let (pulse, folder, conn) = pulse();
        let full = StoreError::CannotWrite(Outage::DiskFull);
        pulse.ended(Some(&full));
        pulse.ended(None);
        assert_eq!(pulse.outage(), Some(Outage::DiskFull), "nothing was written");
        // The file system refuses writes now.
        conn.execute_batch("PRAGMA query_only = ON").unwrap();
        pulse.try_again(&conn);
        assert_eq!(pulse.outage(), Some(Outage::ReadOnly), "it was tried");
        conn.execute_batch("PRAGMA query_only = OFF").unwrap();
        pulse.try_again(&conn);
        assert_eq!(pulse.outage(), Some(Outage::ReadOnly), "not within the same second");
        pulse.tick();
        pulse.try_again(&conn);
        assert_eq!(pulse.outage(), None);
        let written = std::fs::metadata(folder.path().join("t.db-wal")).unwrap().len();
        assert!(written > 65_536, "{written} bytes are no usual commit");
        let left: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "nothing is left");
    }

    /// F-43
    #[test]
    fn files_that_are_removed_or_replaced_are_an_outage_until_they_are_back() {
        for name in ["t.db", "t.db-wal", "t.db-shm"] {
            let (pulse, folder, _conn) = pulse();
            assert_eq!(pulse.outage(), None);
            let (path, aside) = (folder.path().join(name), folder.path().join("aside"));
            std::fs::rename(&path, &aside).unwrap();
            assert_eq!(pulse.outage(), Some(Outage::FilesGone), "{name}");
            std::fs::copy(&aside, &path).unwrap();
            assert_eq!(pulse.outage(), Some(Outage::FilesGone), "{name}: a copy is another file");
            std::fs::rename(&aside, &path).unwrap();
            assert_eq!(pulse.outage(), None, "{name}");
        }
    }
}
