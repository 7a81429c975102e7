//! Create a project.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, Commit, EventKind, Project, ProjectId, ProjectSettings, Revision, Snapshot, Write,
    project::check_title,
};
use serde_json::json;

/// A project to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateProject {
    /// Its name.
    pub id: ProjectId,
    /// For people.
    pub title: Option<String>,
    /// What operators may tune.
    pub settings: ProjectSettings,
}

/// A name is given once, even when the project is deleted later: its rows are still there.
pub fn decide(
    snapshot: &Snapshot,
    command: CreateProject,
    moment: &Moment,
) -> Result<Decision<Project>, Rejection> {
    if let Some(title) = &command.title {
        check_title(title)?;
    }
    command.settings.check()?;
    if snapshot.project.is_some() {
        return Err(Rejection::Conflict(format!("project {} exists already", command.id)));
    }
    let project = Project {
        id: command.id.clone(),
        title: command.title,
        settings: command.settings,
        revision: Revision::FIRST,
        deletions: 0,
        created_at: moment.now,
        updated_at: moment.now,
        deleted_at: None,
    };
    let mut commit = Commit::new(command.id.clone());
    commit.events.push(moment.event(EventKind::ProjectCreated, &command.id, &json!({})));
    commit.audit.push(moment.audit(AuditAction::ProjectCreate, &command.id, &json!({})));
    commit.writes.push(Write::CreateProject(project.clone()));
    Ok(Decision { commit, outcome: project })
}
