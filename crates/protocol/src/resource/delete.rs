//! Delete a document. Its cards stay.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, Commit, ProjectId, Resource, ResourceKind, ResourceName, Snapshot, Write};
use serde_json::json;

/// Marks the document deleted.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    kind: ResourceKind,
    name: &ResourceName,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    let existing = snapshot.resource.as_ref().filter(|resource| resource.deleted_at.is_none());
    let resource = existing.ok_or_else(|| Rejection::not_found(kind.as_str(), name))?;
    let deleted = Resource {
        revision: resource.revision.next(),
        updated_at: moment.now,
        deleted_at: Some(moment.now),
        ..resource.clone()
    };
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutResource { was: Some(resource.revision), resource: Box::new(deleted) });
    let detail = json!({ "kind": kind.as_str(), "deleted": true });
    commit.audit.push(moment.audit(AuditAction::ResourceWrite, name, &detail));
    Ok(Decision { commit, outcome: () })
}
