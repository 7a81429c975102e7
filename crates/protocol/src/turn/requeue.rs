//! A claimed row whose worker was never heard of again goes back to be claimed (WD-09). Not when the turn runs: then
//! its silence is the watchdog's other business (WD-05).

use super::Outcome;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    Commit, InboxId, InboxItem, InboxKind, InboxStatus, LiveState, Nudge, ProjectId, Snapshot, TurnId, Write,
};

/// Puts the row back.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    inbox_id: InboxId,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let item = snapshot.inbox.as_ref().ok_or_else(|| Rejection::not_found("inbox row", inbox_id))?;
    let nothing = || Ok(Decision::nothing(project.clone(), Outcome::Nothing));
    if item.status != InboxStatus::Processing {
        return nothing();
    }
    let mut commit = Commit::new(project.clone());
    let live = snapshot.head.as_ref().and_then(|head| head.live.as_ref().map(|live| (head, live)));
    let for_live = live.filter(|(head, live)| live.turn_id == turn_id && item.epoch == Some(head.epoch));
    let status = match (item.kind, for_live.map(|(_, live)| live.state)) {
        (InboxKind::Turn, Some(LiveState::Dispatched))
        | (InboxKind::ToolResult | InboxKind::Timeout, Some(LiveState::Suspended { .. })) => {
            InboxStatus::Pending
        }
        (_, Some(LiveState::Running | LiveState::Dispatched | LiveState::Suspended { .. }))
            if item.kind == InboxKind::Turn =>
        {
            return nothing();
        }
        // Nobody needs it any more.
        (InboxKind::Turn | InboxKind::ToolResult | InboxKind::Timeout | InboxKind::Stop, _) => {
            InboxStatus::Skipped
        }
    };
    let put_back = InboxItem {
        status,
        worker_id: None,
        processed_at: (status == InboxStatus::Skipped).then_some(moment.now),
        retry_count: item.retry_count + 1,
        reason: Some("processing_timeout".to_owned()),
        ..item.clone()
    };
    commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(put_back) });
    if let Some((head, _)) = for_live {
        commit.writes.push(Write::NudgeHead { guard: head.guard(), nudge: Nudge::default() });
    }
    Ok(Decision { commit, outcome: Outcome::Requeued })
}
