//! The mark beside the database: how far it was acknowledged, as the database alone cannot tell. Without the last part of its
//! log SQLite opens a database as it was before, and nothing in it says that something is missing.
//!
//! It names the last event and audit row of the realm that was written last. Commits are durable in one order, so where
//! these two are, everything before them is.
//! Invariant: a mark tells of nothing that was not durable before the mark was written.

use crate::{files::beside, sql};
use cardwire_model::Realm;
use cardwire_store::{LogKind, Reach};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use serde_json::{Value, json};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use uuid::Uuid;

/// How far a database was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    realm: Realm,
    /// The realm's last event.
    position: u64,
    event: Option<Uuid>,
    /// The realm's last audit row.
    audit: u64,
}

/// Where the mark of a database is.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    database.with_extension("mark")
}

impl Mark {
    /// How far the database is now.
    fn take(conn: &Connection, realm: &Realm) -> rusqlite::Result<Self> {
        Self::up_to(conn, realm, i64::MAX)
    }

    fn up_to(conn: &Connection, realm: &Realm, position: i64) -> rusqlite::Result<Self> {
        conn.prepare_cached(sql::REACH)?.query_row(params![realm.key(), position], |row| {
            let event: Option<Vec<u8>> = row.get(1)?;
            Ok(Self {
                realm: realm.clone(),
                position: row.get::<_, i64>(0)? as u64,
                event: event.and_then(|id| Uuid::from_slice(&id).ok()),
                audit: row.get::<_, i64>(2)? as u64,
            })
        })
    }

    /// What this database has of what was acknowledged.
    pub(crate) fn reach(&self, conn: &Connection) -> rusqlite::Result<Reach> {
        let at = i64::try_from(self.position).unwrap_or(i64::MAX);
        let found = match Self::up_to(conn, &self.realm, at).optional() {
            // A database without the tables has nothing at all.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => None,
            found => found?,
        };
        let (position, event, audit) =
            found.map_or((0, None, 0), |found| (found.position, found.event, found.audit));
        let realm = self.realm.clone();
        Ok(if position >= self.position && event != self.event {
            // Another event stands there: what is acknowledged ends before it.
            Reach {
                realm,
                log: LogKind::Events,
                acknowledged: self.position,
                found: self.position.saturating_sub(1),
            }
        } else if position >= self.position && audit < self.audit {
            Reach { realm, log: LogKind::Audit, acknowledged: self.audit, found: audit }
        } else {
            Reach { realm, log: LogKind::Events, acknowledged: self.position, found: position }
        })
    }

    /// Reads a mark; nothing where there is none. One that makes no sense is an error.
    pub(crate) fn load(path: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Self::parse(&text)
            .map(Some)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is no mark"))
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |name: &str| Some(&value[name]).filter(|value| !value.is_null()).map(Value::as_str);
        let realm = match text("project_id") {
            Some(project) => Realm::Project(project?.parse().ok()?),
            None => Realm::System,
        };
        let event = match text("event_id") {
            Some(event) => Some(event?.parse().ok()?),
            None => None,
        };
        Some(Self { realm, position: value["event"].as_u64()?, event, audit: value["audit"].as_u64()? })
    }

    /// Writes the mark as a whole: readers find the old one or the new one, also after a crash.
    fn save(&self, path: &Path) -> io::Result<()> {
        let value = json!({
            "project_id": self.realm.project().map(ToString::to_string),
            "event": self.position,
            "event_id": self.event.map(|id| id.to_string()),
            "audit": self.audit,
        });
        let fresh = beside(path, ".new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&fresh)?;
        writeln!(file, "{value}")?;
        // Without this the name may outlive the content when the power goes.
        file.sync_all()?;
        fs::rename(&fresh, path)
    }
}

/// The mark of an open database, kept by the thread that writes the log back.
pub(crate) struct MarkKeeper {
    path: PathBuf,
    kept: KeptMark,
    is_failing: bool,
}

/// The mark as it stands in its file.
pub(crate) type KeptMark = Arc<Mutex<Option<Mark>>>;

/// The mark as it stands, without holding it.
pub(crate) fn kept(mark: &KeptMark) -> Option<Mark> {
    mark.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl MarkKeeper {
    pub(crate) fn new(path: PathBuf, kept: KeptMark) -> Self {
        Self { path, kept, is_failing: false }
    }

    /// Moves the mark to where the realm is now. Answers whether that is done.
    pub(crate) fn keep(&mut self, conn: &Connection, realm: &Realm) -> bool {
        let moved = Mark::take(conn, realm).map_err(io::Error::other).and_then(|mark| {
            mark.save(&self.path)?;
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(mark);
            Ok(())
        });
        if let Err(error) = &moved
            && !self.is_failing
        {
            tracing::warn!(%error, "the mark beside the database cannot be moved; it is tried again every second");
        }
        self.is_failing = moved.is_err();
        !self.is_failing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(position: u64, event: Option<u128>, audit: u64) -> Mark {
        let realm = Realm::Project("p1".parse().unwrap());
        Mark { realm, position, event: event.map(Uuid::from_u128), audit }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_anything_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cardwire.mark");
        assert_eq!(Mark::load(&path).unwrap(), None);
        for mark in [mark(3, Some(7), 1), mark(0, None, 0), Mark { realm: Realm::System, ..mark(0, None, 9) }]
        {
            mark.save(&path).unwrap();
            assert_eq!(Mark::load(&path).unwrap(), Some(mark));
        }
        for text in ["", "{}", r#"{"project_id":1,"event":1,"event_id":null,"audit":1}"#] {
            fs::write(&path, text).unwrap();
            assert_eq!(Mark::load(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "{text}");
        }
    }
}
