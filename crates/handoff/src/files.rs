//! Files below a root, as the rest of the crate sees them.
//!
//! The trait must not know packages: it is handed safe paths and gives bytes. An implementation gives the bytes of a
//! regular file below its root, or an error that says why not (SEC-06).

mod below;
mod kept;
mod local;
mod write;

use crate::{
    SafePath,
    problem::{Findings, Place, Refusal, RefusalKind, code},
};
use cardwire_model::Hash256;
use std::{io, sync::Arc};
use thiserror::Error;

pub use below::Below;
pub use local::LocalFiles;

/// Files below the root it was opened on.
pub trait Files: Send + Sync {
    /// What is known of a file without reading it.
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError>;

    /// The bytes of a file that has at most `max_bytes` of them.
    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError>;

    /// The hash of the bytes of a file that has at most `max_bytes` of them.
    fn hash(&self, path: &SafePath, max_bytes: u64) -> Result<Hash256, FileError> {
        Ok(Hash256::of(&self.read(path, max_bytes)?))
    }

    /// Gives the names in a directory, one by one, in no order. The first error ends it.
    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError>;

    /// Writes a file that does not exist, with the directories it needs. `Ok` is durable. A file that exists is left
    /// as it is: with the same bytes it is [`Written::Same`], with others [`FileError::Exists`].
    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError>;

    /// Writes a file, all of it or nothing, in place of what may be there. `Ok` is durable.
    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError>;

    /// The same files for one piece of work, which remembers the way to them until it is done. A directory that is moved
    /// meanwhile is seen where it was.
    fn kept(&self) -> Box<dyn Files + '_>;
}

/// Whatever leads to files is as good as they are.
macro_rules! files_behind {
    ($($pointer:ty),*) => {$(
        impl<F: Files + ?Sized> Files for $pointer {
            fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
                (**self).stat(path)
            }

            fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
                (**self).read(path, max_bytes)
            }

            fn hash(&self, path: &SafePath, max_bytes: u64) -> Result<Hash256, FileError> {
                (**self).hash(path, max_bytes)
            }

            fn list(
                &self,
                dir: &SafePath,
                each: &mut dyn FnMut(&str) -> Result<(), FileError>,
            ) -> Result<(), FileError> {
                (**self).list(dir, each)
            }

            fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
                (**self).create(path, bytes)
            }

            fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
                (**self).replace(path, bytes)
            }

            fn kept(&self) -> Box<dyn Files + '_> {
                (**self).kept()
            }
        }
    )*};
}

files_behind!(&F, Box<F>, Arc<F>);

/// What is known of a regular file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its size.
    pub bytes: u64,
    /// When it was last written, in microseconds since 1970, where that is known.
    pub modified: Option<i64>,
}

/// What a write that must not overwrite did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file is there now.
    New,
    /// It was there, with the same bytes.
    Same,
}

/// Why a file cannot be had.
#[derive(Debug, Error)]
pub enum FileError {
    /// There is no such file.
    #[error("is missing")]
    Missing,
    /// There is something that is no plain file of this root.
    #[error("{why}")]
    Unsafe {
        /// What it is.
        why: String,
    },
    /// It has more bytes than were asked for.
    #[error("has more than {limit} bytes")]
    TooLarge {
        /// How many were asked for.
        limit: u64,
    },
    /// It exists, with other bytes.
    #[error("exists already, with other content")]
    Exists,
    /// The file system or the object store failed.
    #[error("cannot be read or written: {0}")]
    Io(#[source] io::Error),
}

impl FileError {
    pub(crate) fn unsafe_because(why: impl Into<String>) -> Self {
        Self::Unsafe { why: why.into() }
    }

    /// Whether an empty file counts as missing is for the gate to say; here it is what the file system says.
    pub(crate) fn report(&self, place: Place<'_>, findings: &mut Findings) {
        let code = match self {
            Self::Missing => code::PERSISTENCE_INCOMPLETE,
            Self::Unsafe { .. } => code::UNSAFE_PATH,
            Self::TooLarge { .. } | Self::Exists => code::INVALID_FILE,
            Self::Io(_) => code::FILE_UNREADABLE,
        };
        findings.error(code, place, self.to_string());
    }

    /// A refusal because of a file that had to be read.
    pub(crate) fn refusal(&self, path: &str) -> Refusal {
        let (kind, code) = match self {
            Self::Missing => (RefusalKind::Unprocessable, code::PERSISTENCE_INCOMPLETE),
            Self::Unsafe { .. } => (RefusalKind::Invalid, code::UNSAFE_PATH),
            Self::TooLarge { .. } => (RefusalKind::TooLarge, code::INVALID_FILE),
            Self::Exists => (RefusalKind::Conflict, code::ITERATION_CHANGED),
            Self::Io(_) => (RefusalKind::Unprocessable, code::FILE_UNREADABLE),
        };
        Refusal::new(kind, code, None, format!("{path}: {self}")).about(path)
    }

    /// A refusal because of a file that had to be written.
    pub(crate) fn write_refusal(&self, path: &str) -> Refusal {
        let mut refusal = self.refusal(path);
        match self {
            Self::Missing | Self::TooLarge { .. } | Self::Io(_) => {
                refusal.kind = RefusalKind::Unprocessable;
                refusal.code = code::FILE_NOT_WRITTEN;
                for problem in &mut refusal.problems {
                    problem.code = code::FILE_NOT_WRITTEN;
                }
            }
            Self::Unsafe { .. } | Self::Exists => {}
        }
        refusal
    }
}
