//! Where the files of projects are: each in a directory of its own below one root, opened when the server starts (SEC-06).
//!
//! Whatever looks at files does so on a thread that may wait, never on those that serve requests.
//! Invariant: no path of a project leads out of its directory, whoever asks.

use crate::error::ApiError;
use cardwire_api::ErrorCode;
use cardwire_handoff::{Below, FileError, Files, SafePath, Stat, Written};
use cardwire_model::{Invalid, Project};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many requests look at files at once. Others wait, so that reads of the store find threads too.
const AT_ONCE: usize = 8;
/// How many of those that come on top hash the files of a package at once, so that they leave processors to others.
const HASHING_AT_ONCE: usize = 2;

/// The workspace root, if the server has one.
#[derive(Clone)]
pub(crate) struct Workspace {
    root: Option<Arc<dyn Files>>,
    places: Arc<Semaphore>,
    hashing: Arc<Semaphore>,
}

impl Workspace {
    pub(crate) fn new(root: Option<Arc<dyn Files>>) -> Self {
        let places = |count| Arc::new(Semaphore::new(count));
        Self { root, places: places(AT_ONCE), hashing: places(HASHING_AT_ONCE) }
    }

    /// The files of a project.
    pub(crate) fn of(&self, project: &Project) -> Result<Arc<dyn Files>, ApiError> {
        let below = SafePath::parse(project.directory())
            .map_err(|why| Invalid::field("settings/workspace_root", why.to_string()))?;
        Ok(Arc::new(Below::new(self.all(), below)))
    }

    /// The files of all projects.
    pub(crate) fn all(&self) -> Arc<dyn Files> {
        self.root.clone().unwrap_or_else(|| Arc::new(Nowhere))
    }

    /// Does something with files, on a thread that may wait for them.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Self::work(&self.places, work).await
    }

    /// The same for work that reads many files whole.
    pub(crate) async fn hash<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Self::work(&self.hashing, work).await
    }

    async fn work<T: Send + 'static>(
        places: &Arc<Semaphore>,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let failed =
            || ApiError::new(ErrorCode::Internal, "internal error; the server's log has the details");
        // The place goes with the work, which goes on when nobody waits for it any more.
        let place = Arc::clone(places).acquire_owned().await.map_err(|_| failed())?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        match done.await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::error!(%error, "looking at files failed");
                Err(failed())
            }
        }
    }
}

/// A place where there is nothing.
struct Nowhere;

impl Files for Nowhere {
    fn stat(&self, _: &SafePath) -> Result<Stat, FileError> {
        Err(FileError::Missing)
    }

    fn read(&self, _: &SafePath, _: u64) -> Result<Vec<u8>, FileError> {
        Err(FileError::Missing)
    }

    fn list(&self, _: &SafePath, _: &mut dyn FnMut(&str) -> Result<(), FileError>) -> Result<(), FileError> {
        Err(FileError::Missing)
    }

    fn create(&self, _: &SafePath, _: &[u8]) -> Result<Written, FileError> {
        Err(FileError::Missing)
    }

    fn replace(&self, _: &SafePath, _: &[u8]) -> Result<(), FileError> {
        Err(FileError::Missing)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(self)
    }
}
