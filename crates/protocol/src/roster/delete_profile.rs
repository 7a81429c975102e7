//! Delete a profile. Agents that have it keep the box they were made with.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, Commit, Profile, ProfileName, ProjectId, Snapshot, Write};
use serde_json::json;

/// Marks the profile deleted.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    name: &ProfileName,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    let existing = snapshot.profile.as_ref().filter(|profile| profile.deleted_at.is_none());
    let profile = existing.ok_or_else(|| Rejection::not_found("profile", name))?;
    let deleted = Profile {
        revision: profile.revision.next(),
        updated_at: moment.now,
        deleted_at: Some(moment.now),
        ..profile.clone()
    };
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutProfile { was: Some(profile.revision), profile: Box::new(deleted) });
    commit.audit.push(moment.audit(AuditAction::ProfileWrite, name, &json!({ "deleted": true })));
    Ok(Decision { commit, outcome: () })
}
