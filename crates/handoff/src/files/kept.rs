//! Local files for one piece of work: the handles of directories are kept, so that a directory of thousands of files is
//! walked to once.
//!
//! A handle was reached without a link, and stays the directory it was whatever its name means later. It must not outlive
//! the work: a server would go on reading a directory that was replaced.

use super::{FileError, Files, LocalFiles, Stat, Written, local};
use crate::SafePath;
use cardwire_model::Hash256;
use rustix::fd::{AsFd, OwnedFd};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Directories that are kept open. An iteration has six; when it is more, all are walked to again.
const DIRECTORIES: usize = 16;

pub(super) struct Kept<'a> {
    files: &'a LocalFiles,
    dirs: Mutex<HashMap<String, Arc<OwnedFd>>>,
}

impl<'a> Kept<'a> {
    pub(super) fn new(files: &'a LocalFiles) -> Self {
        Self { files, dirs: Mutex::default() }
    }

    fn parent<'p>(&self, path: &'p SafePath) -> Result<(Arc<OwnedFd>, &'p str), FileError> {
        let (Some(dir), name) = path.split() else { return self.files.parent(path) };
        let mut dirs = self.dirs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = dirs.get(dir) {
            return Ok((Arc::clone(handle), name));
        }
        let (handle, name) = self.files.parent(path)?;
        if dirs.len() >= DIRECTORIES {
            dirs.clear();
        }
        dirs.insert(dir.to_owned(), Arc::clone(&handle));
        Ok((handle, name))
    }
}

impl Files for Kept<'_> {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        let (dir, name) = self.parent(path)?;
        local::stat_at(dir.as_fd(), name)
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        let (dir, name) = self.parent(path)?;
        local::read_at(dir.as_fd(), name, max_bytes)
    }

    fn hash(&self, path: &SafePath, max_bytes: u64) -> Result<Hash256, FileError> {
        let (dir, name) = self.parent(path)?;
        local::hash_at(dir.as_fd(), name, max_bytes)
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.files.list(dir, each)
    }

    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
        self.files.create(path, bytes)
    }

    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
        self.files.replace(path, bytes)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(self)
    }
}
