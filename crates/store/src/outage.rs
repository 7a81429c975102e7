//! [`Outage`]: why no write goes through now, in the words of a person who can do something about it.
//!
//! Must not know a backend. Invariant: the words name no path, host or content, so that every client may read them.

use thiserror::Error;

/// Why no write goes through now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Outage {
    /// There is no room.
    #[error(
        "the disk that holds the store is full; make room on it, and writes go through again by themselves"
    )]
    DiskFull,
    /// The system refuses writes.
    #[error(
        "the store cannot be written: its file system is read-only, or the files belong to somebody else; change that, \
         and writes go through again by themselves"
    )]
    ReadOnly,
    /// The system reports errors.
    #[error(
        "the disk that holds the store refuses what is written: it fails, or a quota or a limit on the size of files is \
         reached; see the system's log, and check the store with `cardwire verify`"
    )]
    DiskError,
    /// Somebody else is writing.
    #[error("another program holds a lock on the store; end that program")]
    Locked,
    /// What is written would be lost.
    #[error(
        "the files of the store were removed or replaced while it was open; stop the server, put them back or restore a \
         backup, and start it again"
    )]
    FilesGone,
    /// No answer within the time that a look may take.
    #[error(
        "the store does not answer: its disk hangs, or what writes to it is stopped; restart the server if that lasts"
    )]
    Silent,
    /// What writes has ended.
    #[error("what writes to the store has ended; restart the server, whose log says why it ended")]
    WriterEnded,
    /// Commits are durable, and the log they are in grows without end.
    #[error(
        "the store's log cannot be written back into its database and grows; see the server's log for the reason, and \
         make room on the disk"
    )]
    LogGrows,
}

impl Outage {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DiskFull => "disk_full",
            Self::ReadOnly => "read_only",
            Self::DiskError => "disk_error",
            Self::Locked => "locked",
            Self::FilesGone => "files_gone",
            Self::Silent => "silent",
            Self::WriterEnded => "writer_ended",
            Self::LogGrows => "log_grows",
        }
    }
}
