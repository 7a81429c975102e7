//! A damaged row is put away instead of being rung for for ever (WD-10). When it was the row of the live turn, the
//! turn ends with it.

use super::{
    Outcome,
    ending::{self, End, Remains},
    fence, lease,
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    Commit, InboxId, InboxItem, InboxKind, InboxStatus, ProjectId, Snapshot, TaskStatus, TurnId, Write,
};

/// A row to put away.
#[derive(Debug, Clone)]
pub struct Archive {
    /// The turn it is, or is for.
    pub turn_id: TurnId,
    /// Which row.
    pub inbox_id: InboxId,
    /// What a deliverable can be made of.
    pub remains: Remains,
}

/// What is wrong with a row, if it cannot be used.
pub fn fault(item: &InboxItem) -> Option<&'static str> {
    lease::damaged_context(item)
}

/// Puts the row away.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Archive,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let item = snapshot.inbox.as_ref().ok_or_else(|| Rejection::not_found("inbox row", command.inbox_id))?;
    let (Some(code), true) = (fault(item), item.status.is_open()) else {
        return Ok(Decision::nothing(project.clone(), Outcome::Nothing));
    };
    let live = snapshot.head.as_ref().filter(|head| {
        head.live.as_ref().is_some_and(|live| live.turn_id == command.turn_id && live.inbox_id == item.id)
    });
    if let (Some(head), InboxKind::Turn) = (live, item.kind) {
        let held = fence::live(snapshot, project, command.turn_id, head.epoch)?;
        let end = End::TakenAway { status: TaskStatus::Failed, reason: code, remains: &command.remains };
        let mut ended = ending::end(Work::new(held, moment), snapshot, end)?;
        for write in &mut ended.commit.writes {
            if let Write::UpdateInbox { item: row, .. } = write
                && row.id == item.id
            {
                row.status = InboxStatus::Error;
                row.reason = Some(code.to_owned());
            }
        }
        return Ok(Decision { commit: ended.commit, outcome: Outcome::Archived });
    }
    let mut commit = Commit::new(project.clone());
    let archived = InboxItem {
        status: InboxStatus::Error,
        processed_at: Some(moment.now),
        reason: Some(code.to_owned()),
        ..item.clone()
    };
    commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(archived) });
    Ok(Decision { commit, outcome: Outcome::Archived })
}
