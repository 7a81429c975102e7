//! Close a batch before all its branches have ended: from this commit on its branches take no more ends, so that what
//! the parent is told is what they say.

use crate::Moment;
use cardwire_model::{AuditAction, Batch, CloseReason, Commit, ProjectId, Write};
use serde_json::json;

/// Begins to close the batch.
pub fn begin(project: &ProjectId, batch: &Batch, reason: CloseReason, moment: &Moment) -> Commit {
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::BeginClose { batch_id: batch.id, reason });
    if reason == CloseReason::Canceled {
        let detail = json!({ "parent_agent_id": batch.parent_agent.as_str() });
        commit.audit.push(moment.audit(AuditAction::BatchCancel, batch.id, &detail));
    }
    commit
}
