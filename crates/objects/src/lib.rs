//! Files of an object store: S3, and what speaks like it.
//!
//! A key names its bytes or nothing: there are no links, no devices and nothing half-written, so that a safe path is all
//! that SEC-06 asks for. Directories are the part of a key before its last slash; one without keys is missing.
//!
//! This crate must not know packages, the environment or where keys come from. Files are waited for, as directories are:
//! they must be used on a thread that may wait.

mod kept;
mod s3;

use cardwire_handoff::{FileError, Files, SafePath, Stat, Written};
use futures_util::StreamExt;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, path::Path};
use std::{io, sync::Arc};
use tokio::runtime::Handle;

pub use s3::S3;

/// Files whose paths are the keys of an object store.
#[derive(Debug, Clone)]
pub struct ObjectFiles {
    store: Arc<dyn ObjectStore>,
    runtime: Handle,
}

impl ObjectFiles {
    /// The objects of a store; `runtime` does what is waited for.
    pub fn new(store: Arc<dyn ObjectStore>, runtime: Handle) -> Self {
        Self { store, runtime }
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, FileError> {
        self.runtime.block_on(work).map_err(error)
    }

    async fn bytes(&self, key: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>, Error> {
        let found = self.store.get(key).await?;
        if found.meta.size > max_bytes {
            return Ok(None);
        }
        let bytes = found.bytes().await?;
        Ok((bytes.len() as u64 <= max_bytes).then(|| bytes.to_vec()))
    }
}

impl Files for ObjectFiles {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        let key = key(path)?;
        let found = self.wait(async { self.store.head(&key).await })?;
        Ok(stat(&found))
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        let key = key(path)?;
        self.wait(self.bytes(&key, max_bytes))?.ok_or(FileError::TooLarge { limit: max_bytes })
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let prefix = key(dir)?;
        let mut objects = self.store.list(Some(&prefix)).chunks(PAGE);
        let mut is_there = false;
        // One page at a time: whoever is told a name may ask for more files before the next.
        while let Some(page) = self.runtime.block_on(objects.next()) {
            for object in page {
                is_there = true;
                if let Some(name) = name_in(&prefix, &object.map_err(error)?.location) {
                    each(&name)?;
                }
            }
        }
        if is_there { Ok(()) } else { Err(FileError::Missing) }
    }

    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
        let key = key(path)?;
        let payload = PutPayload::from(bytes.to_vec());
        let put = self.runtime.block_on(self.store.put_opts(&key, payload, PutMode::Create.into()));
        match put {
            Ok(_) => Ok(Written::New),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                match self.wait(self.bytes(&key, bytes.len() as u64))? {
                    Some(found) if found == bytes => Ok(Written::Same),
                    Some(_) | None => Err(FileError::Exists),
                }
            }
            Err(other) => Err(error(other)),
        }
    }

    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
        let key = key(path)?;
        let payload = PutPayload::from(bytes.to_vec());
        self.wait(async { self.store.put(&key, payload).await }).map(drop)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(kept::Kept::new(self))
    }
}

/// Names that are listed at once. S3 gives no more in one answer.
const PAGE: usize = 1_000;

fn key(path: &SafePath) -> Result<Path, FileError> {
    Path::parse(path.as_str()).map_err(|why| FileError::Unsafe { why: why.to_string() })
}

fn stat(object: &ObjectMeta) -> Stat {
    Stat { bytes: object.size, modified: Some(object.last_modified.timestamp_micros()) }
}

/// The name of an object in a directory; none for what is further below.
fn name_in(dir: &Path, object: &Path) -> Option<String> {
    let mut names = object.prefix_match(dir)?;
    let name = names.next()?;
    names.next().is_none().then(|| name.as_ref().to_owned())
}

fn error(error: Error) -> FileError {
    if matches!(error, Error::NotFound { .. }) {
        return FileError::Missing;
    }
    // What the store says names its address, its bucket and the keys of whoever asks: that is for the log of this machine.
    let is_refused = matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. });
    let said = if is_refused { "the object store refuses it" } else { "the object store failed" };
    tracing::warn!(%error, "an object store did not answer as it should");
    FileError::Io(io::Error::other(said))
}
