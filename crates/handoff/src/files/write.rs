//! Writing a file so that it is there whole and for good, or not at all.
//!
//! Bytes go under a temporary name first, which never ends like a name of ours; then to disk; then the file gets its
//! name; then the directory goes to disk. A crash in between leaves at most a temporary file behind.

use super::local::{error, open_dir, read_at, stat_at};
use super::{FileError, Written};
use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::Write,
    process,
    sync::atomic::{AtomicU64, Ordering},
};

/// How many temporary names are tried: each that is taken was left behind by a process with our id that went down.
const NAMES: usize = 1_000;

/// Makes a directory and opens it. Somebody else may make it first.
pub(super) fn make_dir(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, FileError> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) => rustix::fs::fsync(parent).map_err(error)?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(error(errno)),
    }
    open_dir(parent, name)
}

/// Writes a file under a name that must be free.
pub(super) fn create_at(dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<Written, FileError> {
    if let Some(written) = existing(dir, name, bytes)? {
        return Ok(written);
    }
    let temporary = Temporary::write(dir, bytes)?;
    match rustix::fs::renameat_with(dir, &temporary.name, dir, name, RenameFlags::NOREPLACE) {
        Ok(()) => temporary.renamed()?,
        Err(Errno::EXIST) => return existing(dir, name, bytes)?.ok_or(FileError::Missing),
        // A file system that cannot do it in one step: look once more, then take the name.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if let Some(written) = existing(dir, name, bytes)? {
                return Ok(written);
            }
            rustix::fs::renameat(dir, &temporary.name, dir, name).map_err(error)?;
            temporary.renamed()?;
        }
        Err(errno) => return Err(error(errno)),
    }
    Ok(Written::New)
}

/// Writes a file in place of what is there.
pub(super) fn replace_at(dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    match stat_at(dir, name) {
        Ok(_) | Err(FileError::Missing) => {}
        Err(error) => return Err(error),
    }
    let temporary = Temporary::write(dir, bytes)?;
    rustix::fs::renameat(dir, &temporary.name, dir, name).map_err(error)?;
    temporary.renamed()
}

/// Whether the file is there with these bytes. It may have been written just before a crash, hence to disk with it.
fn existing(dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<Option<Written>, FileError> {
    match read_at(dir, name, bytes.len() as u64) {
        Ok(found) if found == bytes => {
            let handle = rustix::fs::openat(
                dir,
                name,
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
            );
            rustix::fs::fsync(handle.map_err(error)?).map_err(error)?;
            rustix::fs::fsync(dir).map_err(error)?;
            Ok(Some(Written::Same))
        }
        Ok(_) | Err(FileError::TooLarge { .. }) => Err(FileError::Exists),
        Err(FileError::Missing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file under a temporary name, gone when it does not get its own.
struct Temporary<'a> {
    dir: BorrowedFd<'a>,
    name: String,
    keep: bool,
}

impl<'a> Temporary<'a> {
    fn write(dir: BorrowedFd<'a>, bytes: &[u8]) -> Result<Self, FileError> {
        let (temporary, handle) = Self::open(dir)?;
        let mut file = File::from(handle);
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(FileError::Io)?;
        Ok(temporary)
    }

    /// A name nobody has. The counter tells threads apart, the process id processes.
    fn open(dir: BorrowedFd<'a>) -> Result<(Self, OwnedFd), FileError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..NAMES {
            let name = format!(".{}-{}.tmp", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
            match rustix::fs::openat(dir, &name, flags, Mode::from_raw_mode(0o644)) {
                Ok(handle) => return Ok((Self { dir, name, keep: false }, handle)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(error(errno)),
            }
        }
        Err(error(Errno::EXIST))
    }

    /// The file has its own name now.
    fn renamed(mut self) -> Result<(), FileError> {
        self.keep = true;
        rustix::fs::fsync(self.dir).map_err(error)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // Whatever happens, the name is one that nobody takes for a file of ours.
            let _ = rustix::fs::unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}
