//! Below which directory the paths of a package lead: that of its project (F-40).
//!
//! Files that lie in the workspace root itself are in no project's directory. Who has a token for all projects may hand over
//! a package of them to a project that was given no directory by name; what was accepted so is loaded from there.
//! Invariant: a token of one project, and an agent, reach the directory of their project and nothing else.

use crate::{error::ApiError, request::Request};
use cardwire_handoff::{FileError, Files, SafePath};
use cardwire_kernel::{HandoffView, protocol::handoff::reaches_shared_root};
use cardwire_model::Project;
use std::sync::Arc;

/// Files, and whether they are those of all projects.
#[derive(Clone)]
pub(super) struct Root {
    pub(super) files: Arc<dyn Files>,
    pub(super) is_shared: bool,
}

impl Root {
    /// That of the project in the path, or of the whole workspace where there is none.
    pub(super) async fn own(request: &Request) -> Result<Self, ApiError> {
        match project(request).await? {
            Some(project) => Self::of(request, &project),
            None => Ok(Self::shared(request)),
        }
    }

    /// That of a package which is sent, or made, by who asks.
    pub(super) async fn of_paths(request: &Request, paths: Vec<SafePath>) -> Result<Self, ApiError> {
        let own = Self::own(request).await?;
        let Some(project) = project(request).await? else { return Ok(own) };
        let names_agent = request.text("agent_id").is_some();
        if !reaches_shared_root(&project, &request.by()?.token, names_agent) {
            return Ok(own);
        }
        Self::perhaps_shared(request, &project, own, paths).await
    }

    /// That of a package which was accepted.
    pub(super) async fn of_accepted(
        request: &Request,
        view: &HandoffView,
        paths: Vec<SafePath>,
    ) -> Result<Self, ApiError> {
        let own = Self::own(request).await?;
        let Some(project) = project(request).await? else { return Ok(own) };
        match view.in_shared_root {
            Some(true) => Ok(Self::shared(request)),
            None if project.settings.workspace_root.is_none() => {
                Self::perhaps_shared(request, &project, own, paths).await
            }
            Some(false) | None => Ok(own),
        }
    }

    fn of(request: &Request, project: &Project) -> Result<Self, ApiError> {
        Ok(Self { files: request.state.workspace.of(project)?, is_shared: false })
    }

    fn shared(request: &Request) -> Self {
        Self { files: request.state.workspace.all(), is_shared: true }
    }

    /// The shared root if something of these paths is there, nothing in the project's own, and none of it another's.
    async fn perhaps_shared(
        request: &Request,
        project: &Project,
        own: Self,
        paths: Vec<SafePath>,
    ) -> Result<Self, ApiError> {
        let names = paths.iter().filter_map(|path| path.names().next()).collect();
        if request.state.kernel.lead_to_another(&names, &project.id).await? {
            return Ok(own);
        }
        let shared = Self::shared(request);
        let look = move || {
            let has = |root: &Self| paths.iter().any(|path| is_there(&*root.files, path));
            Ok(if !has(&own) && has(&shared) { shared } else { own })
        };
        request.state.workspace.look(look).await
    }
}

async fn project(request: &Request) -> Result<Option<Project>, ApiError> {
    match &request.project {
        Some(project) => Ok(Some(request.state.kernel.live_project(project).await?)),
        None => Ok(None),
    }
}

/// Whether there is anything, a file or a directory.
fn is_there(files: &dyn Files, path: &SafePath) -> bool {
    let is_missing = |looked: Result<(), FileError>| matches!(looked, Err(FileError::Missing));
    // A store of objects knows directories by what is in them. The first name is enough, and ends the list.
    !is_missing(files.stat(path).map(drop)) || !is_missing(files.list(path, &mut |_| Err(FileError::Exists)))
}
