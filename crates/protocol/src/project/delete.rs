//! Delete a project: a mark, not a purge. Its name stays taken and everything in it is not found from then on.

use super::live;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, Commit, EventKind, Expect, ProjectId, Snapshot, Write};
use serde_json::json;

/// Marks a live project deleted.
pub fn decide(snapshot: &Snapshot, id: &ProjectId, moment: &Moment) -> Result<Decision<()>, Rejection> {
    let old = live(snapshot, id)?;
    let mut project = old.clone();
    project.deleted_at = Some(moment.now);
    project.updated_at = moment.now;
    project.revision = old.revision.next();
    let mut commit = Commit::new(id.clone());
    commit.expect.push(Expect::ProjectAt(old.revision));
    commit.events.push(moment.event(EventKind::ProjectDeleted, id, &json!({})));
    commit.audit.push(moment.audit(AuditAction::ProjectDelete, id, &json!({})));
    commit.writes.push(Write::UpdateProject(project));
    Ok(Decision { commit, outcome: () })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{moment, project, project_row};

    #[test]
    fn a_project_is_deleted_once() {
        let mut snapshot = Snapshot { project: Some(project_row()), ..Snapshot::default() };
        assert!(decide(&snapshot, &project(), &moment()).is_ok());
        snapshot.project.as_mut().unwrap().deleted_at = Some(moment().now);
        assert!(decide(&snapshot, &project(), &moment()).is_err());
        assert!(decide(&Snapshot::default(), &project(), &moment()).is_err());
    }
}
