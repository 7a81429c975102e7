//! One process per database file. The lock is the operating system's, so it ends with the process however that
//! ends; the file tells who holds it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
};

/// The process that has the database open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, if it could be read.
    pub pid: Option<u32>,
}

/// Takes the lock, or says who has it.
pub(crate) fn take(path: &Path) -> io::Result<Result<File, Holder>> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())?;
            Ok(Ok(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            Ok(Err(Holder { pid: text.trim().parse().ok() }))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Who has the lock, without taking it or writing anything.
pub(crate) fn holder(path: &Path) -> Option<Holder> {
    let mut file = File::open(path).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| {
        let mut text = String::new();
        // Who it is matters less than that there is somebody.
        let _ = file.read_to_string(&mut text);
        Holder { pid: text.trim().parse().ok() }
    })
}
