//! Ring again for a row that nobody has claimed (WD-04, WD-10). It never inserts a row (invariant 7, W-05) and never
//! moves the time the turn was dispatched (invariant 8, W-04).

use super::Outcome;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    Commit, InboxId, InboxItem, InboxKind, InboxStatus, Nudge, ProjectId, Snapshot, TurnId, Write,
};

/// Notes that the doorbell rings; the kernel rings it once this is written.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    inbox_id: InboxId,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let item = snapshot.inbox.as_ref().ok_or_else(|| Rejection::not_found("inbox row", inbox_id))?;
    let mut commit = Commit::new(project.clone());
    match item.status {
        InboxStatus::Pending => {}
        InboxStatus::Deferred if item.next_retry_at.is_none_or(|at| at <= moment.now) => {
            let due = InboxItem { status: InboxStatus::Pending, next_retry_at: None, ..item.clone() };
            commit.writes.push(Write::UpdateInbox { from: InboxStatus::Deferred, item: Box::new(due) });
        }
        InboxStatus::Deferred
        | InboxStatus::Queued
        | InboxStatus::Processing
        | InboxStatus::Consumed
        | InboxStatus::Error
        | InboxStatus::Skipped => return Ok(Decision::nothing(project.clone(), Outcome::Nothing)),
    }
    let head = snapshot.head.as_ref().filter(|head| {
        head.live.as_ref().is_some_and(|live| live.turn_id == turn_id && item.kind == InboxKind::Turn)
    });
    if let Some(head) = head {
        let nudge = Nudge { rung: Some(moment.now), ..Nudge::default() };
        commit.writes.push(Write::NudgeHead { guard: head.guard(), nudge });
    }
    Ok(Decision { commit, outcome: Outcome::Rung })
}
