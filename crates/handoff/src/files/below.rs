//! The files below a directory of others.

use super::{FileError, Files, Stat, Written};
use crate::SafePath;
use cardwire_model::Hash256;

/// The files below a directory, which need not be there yet.
#[derive(Debug, Clone)]
pub struct Below<F> {
    files: F,
    dir: SafePath,
}

impl<F: Files> Below<F> {
    /// Paths are looked for below `dir`.
    pub fn new(files: F, dir: SafePath) -> Self {
        Self { files, dir }
    }

    fn path(&self, path: &SafePath) -> Result<SafePath, FileError> {
        self.dir.join_path(path).map_err(|why| FileError::unsafe_because(why.to_string()))
    }
}

impl<F: Files> Files for Below<F> {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        self.files.stat(&self.path(path)?)
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        self.files.read(&self.path(path)?, max_bytes)
    }

    fn hash(&self, path: &SafePath, max_bytes: u64) -> Result<Hash256, FileError> {
        self.files.hash(&self.path(path)?, max_bytes)
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.files.list(&self.path(dir)?, each)
    }

    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
        self.files.create(&self.path(path)?, bytes)
    }

    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
        self.files.replace(&self.path(path)?, bytes)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(Below::new(self.files.kept(), self.dir.clone()))
    }
}
