//! Files of this machine, reached through the handle of an opened directory (SEC-06).
//!
//! Every path is walked name by name, each opened relative to the handle of the one before and never through a link.
//! Nobody who changes names in between can therefore lead a walk out of the root. What is read is judged on the very
//! handle it is read from: a regular file with a single name.

use super::{FileError, Files, Stat, Written, kept::Kept, write};
use crate::SafePath;
use cardwire_model::{ByteHasher, Hash256};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
    sync::Arc,
};

/// How much of a file is read at once to be hashed.
const PIECE: usize = 64 * 1024;

/// Directories are opened to walk through them, and nothing else will do.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opening must not wait for whoever writes into a pipe, nor take a terminal.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Files below a directory of this machine.
#[derive(Debug, Clone)]
pub struct LocalFiles {
    root: Arc<OwnedFd>,
}

impl LocalFiles {
    /// Opens a root. Links on the way to it are followed: whoever runs us chose it.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty()).map_err(error)?;
        Ok(Self { root: Arc::new(root) })
    }

    /// The directory that a path is in, and its last name.
    pub(super) fn parent<'p>(&self, path: &'p SafePath) -> Result<(Arc<OwnedFd>, &'p str), FileError> {
        self.walk(path, open_dir)
    }

    /// The same, with the directories made where they are missing.
    fn make_parent<'p>(&self, path: &'p SafePath) -> Result<(Arc<OwnedFd>, &'p str), FileError> {
        self.walk(path, |parent, name| match open_dir(parent, name) {
            Err(FileError::Missing) => write::make_dir(parent, name),
            opened => opened,
        })
    }

    fn walk<'p>(
        &self,
        path: &'p SafePath,
        open: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, FileError>,
    ) -> Result<(Arc<OwnedFd>, &'p str), FileError> {
        let (dir, name) = path.split();
        let mut at = Arc::clone(&self.root);
        for name in dir.into_iter().flat_map(|dir| dir.split('/')) {
            at = Arc::new(open(at.as_fd(), name)?);
        }
        Ok((at, name))
    }
}

impl Files for LocalFiles {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        let (dir, name) = self.parent(path)?;
        stat_at(dir.as_fd(), name)
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        let (dir, name) = self.parent(path)?;
        read_at(dir.as_fd(), name, max_bytes)
    }

    fn hash(&self, path: &SafePath, max_bytes: u64) -> Result<Hash256, FileError> {
        let (dir, name) = self.parent(path)?;
        hash_at(dir.as_fd(), name, max_bytes)
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let (parent, name) = self.parent(dir)?;
        let handle = open_dir(parent.as_fd(), name)?;
        for entry in Dir::read_from(&handle).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name().to_str();
            let name = name.map_err(|_| FileError::unsafe_because("holds a name that is not UTF-8"))?;
            if name != "." && name != ".." {
                each(name)?;
            }
        }
        Ok(())
    }

    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
        let (dir, name) = self.make_parent(path)?;
        write::create_at(dir.as_fd(), name, bytes)
    }

    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
        let (dir, name) = self.make_parent(path)?;
        write::replace_at(dir.as_fd(), name, bytes)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(Kept::new(self))
    }
}

/// Opens a directory by its name in another one.
pub(super) fn open_dir(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, FileError> {
    match rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()) {
        Ok(handle) => Ok(handle),
        // Linux gives one error for links and for files. A file where a directory should be is nothing to fear, but
        // what we look for is not below it.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) if kind_at(parent, name)? == FileType::Symlink => {
            Err(symbolic_link())
        }
        Err(errno) => Err(error(errno)),
    }
}

/// What is known of a plain file by its name in a directory.
pub(super) fn stat_at(dir: BorrowedFd<'_>, name: &str) -> Result<Stat, FileError> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
    check_plain(&stat)
}

/// Reads a plain file by its name in a directory.
pub(super) fn read_at(dir: BorrowedFd<'_>, name: &str, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    let (file, stat) = open_plain(dir, name, max_bytes)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.bytes).unwrap_or(0));
    // The file may grow while it is read.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(FileError::Io)?;
    if bytes.len() as u64 > max_bytes {
        return Err(FileError::TooLarge { limit: max_bytes });
    }
    Ok(bytes)
}

/// Hashes a plain file by its name in a directory, a piece at a time.
pub(super) fn hash_at(dir: BorrowedFd<'_>, name: &str, max_bytes: u64) -> Result<Hash256, FileError> {
    let (file, _) = open_plain(dir, name, max_bytes)?;
    let mut file = file.take(max_bytes.saturating_add(1));
    let (mut hasher, mut piece, mut seen) = (ByteHasher::default(), vec![0; PIECE], 0);
    loop {
        let count = match file.read(&mut piece) {
            Ok(0) if seen > max_bytes => return Err(FileError::TooLarge { limit: max_bytes }),
            Ok(0) => return Ok(hasher.finish()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(FileError::Io(error)),
        };
        seen += count as u64;
        hasher.add(&piece[..count]);
    }
}

/// Opens a plain file to be read from its beginning.
fn open_plain(dir: BorrowedFd<'_>, name: &str, max_bytes: u64) -> Result<(File, Stat), FileError> {
    // Opening a device or a pipe may do something to it, so that we look before we open; and again after, because the
    // name may mean something else by then.
    stat_at(dir, name)?;
    let handle = match rustix::fs::openat(dir, name, FILE, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::LOOP | Errno::MLINK) => return Err(symbolic_link()),
        Err(errno) => return Err(error(errno)),
    };
    let stat = check_plain(&rustix::fs::fstat(&handle).map_err(error)?)?;
    if stat.bytes > max_bytes {
        return Err(FileError::TooLarge { limit: max_bytes });
    }
    Ok((File::from(handle), stat))
}

/// A file with a second name may be somebody else's, linked here to have it read. One without any was replaced after
/// we opened it, and is as good as it was. Who may link to whose files is for the system to say: a link that is taken
/// away in the instant between opening and looking cannot be told.
fn check_plain(stat: &rustix::fs::Stat) -> Result<Stat, FileError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink <= 1 => {
            let micros = stat.st_mtime.checked_mul(1_000_000);
            let modified = micros.map(|micros| micros.saturating_add(stat.st_mtime_nsec as i64 / 1_000));
            Ok(Stat { bytes: u64::try_from(stat.st_size).unwrap_or(0), modified })
        }
        FileType::RegularFile => Err(FileError::unsafe_because("has more than one name (hard links)")),
        FileType::Symlink => Err(symbolic_link()),
        FileType::Directory => Err(FileError::unsafe_because("is a directory")),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(FileError::unsafe_because("is not a regular file")),
    }
}

fn kind_at(dir: BorrowedFd<'_>, name: &str) -> Result<FileType, FileError> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

fn symbolic_link() -> FileError {
    FileError::unsafe_because("is a symbolic link, or leads through one")
}

pub(super) fn error(errno: Errno) -> FileError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => FileError::Missing,
        errno => FileError::Io(errno.into()),
    }
}
