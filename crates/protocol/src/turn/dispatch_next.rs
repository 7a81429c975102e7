//! Lease the oldest waiting turn of an idle agent (DP-14). Ends of turns do this themselves; here it mends what was
//! left behind, e.g. after a rebuild.

use super::{copy, lease};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{AgentId, Commit, Head, InboxItem, ProjectId, Snapshot, TurnId};

/// Leases the next turn, if the agent is idle and one waits.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    agent_id: &AgentId,
    waiting: &[InboxItem],
    moment: &Moment,
) -> Result<Decision<Option<TurnId>>, Rejection> {
    let head = snapshot.head.as_ref().ok_or_else(|| Rejection::Lost(agent_id.clone()))?;
    if head.live.is_some() {
        return Ok(Decision::nothing(project.clone(), None));
    }
    let next = lease::next(head, waiting, snapshot, None, moment)?;
    let mut commit = Commit::new(project.clone());
    let turn = next.head.live.as_ref().map(|live| live.turn_id);
    if next.taken == 0 {
        if head.queued > 0 && waiting.is_empty() {
            // The count says that somebody waits, the inbox says nobody does: the inbox is the truth.
            let idle = Head { updated_at: moment.now, ..head.clone() };
            let mut guard = head.guard();
            guard.queued = (head.queued, head.queued);
            let queued = -i32::try_from(head.queued).unwrap_or(i32::MAX);
            commit.writes.push(copy::move_head(guard, idle, queued));
        }
        return Ok(Decision { commit, outcome: None });
    }
    commit.writes = next.writes;
    commit.events = next.events;
    let mut to = next.head;
    to.updated_at = moment.now;
    commit.writes.push(copy::move_head(head.guard(), to, -(next.taken as i32)));
    Ok(Decision { commit, outcome: turn })
}
