//! Rebuild the head of an agent that has lost it (WD-08, W-14). The epoch never goes back (NF-02); a turn whose row is
//! still open is leased again under a new epoch, so that whoever had it is fenced off.

use super::lease;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AgentId, AuditAction, BoxId, Commit, Head, InboxItem, InboxStatus, LiveState, Lost, ProjectId, Snapshot,
    TurnEpoch, Write,
};
use serde_json::json;

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuilt {
    /// The head was there.
    Present(Box<Head>),
    /// It is there again.
    Restored(Box<Head>),
    /// There is nothing to rebuild it from.
    Unknown,
}

/// Rebuilds the head from its copy and from the inbox. `open_calls` are those of the turn that was live: the copy does not
/// know of calls that were made since the turn last moved.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    agent_id: &AgentId,
    open_calls: u32,
    moment: &Moment,
) -> Result<Decision<Rebuilt>, Rejection> {
    if let Some(head) = &snapshot.head {
        return Ok(Decision::nothing(project.clone(), Rebuilt::Present(Box::new(head.clone()))));
    }
    let Some(lost) = snapshot.lost.as_ref().filter(|lost| lost.is_something()) else {
        return Ok(Decision::nothing(project.clone(), Rebuilt::Unknown));
    };
    let mut commit = Commit::new(project.clone());
    let epoch = lost.copy.as_ref().map_or(TurnEpoch::ZERO, |copy| copy.epoch).max(lost.highest);
    let copied = lost.copy.as_ref().and_then(|copy| copy.last_output_box);
    let idle = Head {
        agent_id: agent_id.clone(),
        epoch,
        live: None,
        last_output_box: copied.or(lost.last_output_box),
        queued: lost.queued,
        updated_at: moment.now,
    };
    let head = match lost
        .open
        .as_ref()
        .and_then(|item| restore(&idle, lost, item, (snapshot, open_calls), moment))
    {
        Some((head, item)) => {
            let from = lost.open.as_ref().map_or(InboxStatus::Pending, |open| open.status);
            commit.writes.push(Write::UpdateInbox { from, item: Box::new(item) });
            commit.events.push(lease::dispatched_event(&head, moment));
            head
        }
        None => idle,
    };
    commit.writes.push(Write::CreateHead(Box::new(head.clone())));
    let detail = json!({ "turn_epoch": head.epoch.get(), "status": head.status().as_str() });
    commit.audit.push(moment.audit(AuditAction::StateRebuild, agent_id, &detail));
    Ok(Decision { commit, outcome: Rebuilt::Restored(Box::new(head)) })
}

/// The turn that was live, dispatched again.
fn restore(
    idle: &Head,
    lost: &Lost,
    item: &InboxItem,
    (snapshot, open_calls): (&Snapshot, u32),
    moment: &Moment,
) -> Option<(Head, InboxItem)> {
    let copy =
        lost.copy.as_ref().and_then(|copy| copy.live.as_ref()).filter(|live| live.turn_id == item.turn_id);
    let mut head = match copy {
        Some(live) => {
            let mut live = live.clone();
            live.state = LiveState::Dispatched;
            live.dispatched_at = moment.now;
            live.rung_at = Some(moment.now);
            Head { epoch: idle.epoch.next(), live: Some(live), ..idle.clone() }
        }
        None => {
            let payload = lease::usable(item).ok()?;
            let len = output_len(snapshot, payload.output_box);
            lease::leased(idle, item, &payload, len, moment)
        }
    };
    head.queued = idle.queued;
    if let Some(live) = &mut head.live {
        live.open_calls = open_calls;
    }
    let pending = InboxItem {
        status: InboxStatus::Pending,
        epoch: Some(head.epoch),
        worker_id: None,
        processed_at: None,
        next_retry_at: None,
        ..item.clone()
    };
    Some((head, pending))
}

fn output_len(snapshot: &Snapshot, box_id: BoxId) -> u32 {
    snapshot.boxes.get(&box_id).map_or(0, |head| head.len)
}
