//! Where the files of projects are: below one directory, opened when the server starts (SEC-06).
//!
//! Whatever looks at files does so on a thread that may wait, never on those that serve requests.

use crate::error::ApiError;
use cardwire_api::ErrorCode;
use cardwire_handoff::{FileError, Files, LocalFiles, SafePath, Stat, Written};
use cardwire_model::{Invalid, Project};
use std::sync::Arc;

/// The workspace root, if the server has one.
#[derive(Clone, Default)]
pub(crate) struct Workspace(Option<Arc<LocalFiles>>);

impl Workspace {
    pub(crate) fn new(root: Option<LocalFiles>) -> Self {
        Self(root.map(Arc::new))
    }

    /// The files of a project, or of no one in particular.
    pub(crate) fn files(&self, project: Option<&Project>) -> Result<Arc<dyn Files>, ApiError> {
        let Some(root) = &self.0 else { return Ok(Arc::new(Nowhere)) };
        let below = project.and_then(|project| project.settings.workspace_root.as_deref());
        let Some(below) = below else { return Ok(Arc::clone(root) as _) };
        let wrong = |reason: String| Invalid::field("settings/workspace_root", reason);
        let below = SafePath::parse(below).map_err(|why| wrong(why.to_string()))?;
        match root.below(&below) {
            Ok(files) => Ok(Arc::new(files)),
            Err(FileError::Missing) => Ok(Arc::new(Nowhere)),
            Err(error) => Err(wrong(error.to_string()).into()),
        }
    }
}

/// Does something with files, on a thread that may wait for them.
pub(crate) async fn look<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => {
            tracing::error!(%error, "looking at files failed");
            Err(ApiError::new(ErrorCode::Internal, "internal error; the server's log has the details"))
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
}
