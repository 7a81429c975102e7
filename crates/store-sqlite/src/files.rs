//! The files of an open database: are those still there that SQLite has open?
//!
//! Must not open any of them: closing a second handle would end the locks that SQLite holds on the first.
//! Invariant: what is written while this says no would be lost with the last handle.

use std::{
    ffi::OsString,
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
};

/// What tells one file from another under the same name.
type Identity = (u64, u64);

/// The database, its log and the log's index, as they were when the database was opened.
pub(crate) struct DatabaseFiles(Vec<(PathBuf, Identity)>);

impl DatabaseFiles {
    /// The files of a database that is open for writing.
    pub(crate) fn of(database: &Path) -> io::Result<Self> {
        let paths = [database.to_owned(), beside(database, "-wal"), beside(database, "-shm")];
        let identified = |path: PathBuf| fs::metadata(&path).map(|found| (path, identity(&found)));
        paths.into_iter().map(identified).collect::<io::Result<_>>().map(Self)
    }

    /// Whether each is still the file under its name. An error that does not say so counts as yes: SQLite will meet it.
    pub(crate) fn are_there(&self) -> bool {
        self.0.iter().all(|(path, opened)| match fs::metadata(path) {
            Ok(found) => identity(&found) == *opened,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        })
    }
}

#[cfg(unix)]
fn identity(found: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

/// Where files have no numbers, only their absence is noticed.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {
    (0, 0)
}

/// A file that SQLite keeps beside a database.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    name.into()
}

/// How long a file is; nothing where there is none.
pub(crate) fn length(path: &Path) -> io::Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
