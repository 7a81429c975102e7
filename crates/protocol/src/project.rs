//! Projects (API-07).

pub mod create;
pub mod delete;
pub mod update;

use crate::Rejection;
use cardwire_model::{Project, ProjectId, Snapshot};

/// The project, which must exist and not be deleted.
fn live<'a>(snapshot: &'a Snapshot, id: &ProjectId) -> Result<&'a Project, Rejection> {
    snapshot
        .project
        .as_ref()
        .filter(|project| project.deleted_at.is_none())
        .ok_or_else(|| Rejection::no_project(id))
}
