//! Start a turn, or resume it: dispatched → running, suspended → running (WK-01, DP-16).

use super::{
    Outcome,
    fence::{self, Fence},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{InboxItem, InboxStatus, LiveState, ProjectId, Snapshot, Status, Timestamp, Write};

/// Starts what was claimed. Starting a running turn again is no change, so that a lost answer can be asked for again.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    fence: &Fence,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let held =
        fence::hold(snapshot, project, fence, &[Status::Dispatched, Status::Running, Status::Suspended])?;
    let mut work = Work::new(held, moment);
    match held.live.state {
        LiveState::Running => return Ok(Decision::nothing(project.clone(), Outcome::Running)),
        LiveState::Suspended { waiting: 1.., .. } => {
            return Err(Rejection::Conflict("the turn still waits for its tools".to_owned()));
        }
        LiveState::Suspended { waiting: 0, .. } => consume_reports(&mut work, moment.now),
        // Calls may be open: what an operator has forked in the name of the agent, and those of a turn that was given back.
        // They are answered yet, or carried out by whoever starts the turn, or closed when it ends.
        LiveState::Dispatched => take_row(&mut work, moment.now),
    }
    work.state_event(Status::Running.as_str(), 0);
    let to = held.moved(LiveState::Running, moment.now);
    Ok(work.go(to, Outcome::Running))
}

/// A row that waits to be claimed is in the hands of whoever starts its turn: it was put back while its worker was silent
/// (WD-09), or was never claimed. Left as it is, the next claim would put it away, and the turn would run without a row.
fn take_row(work: &mut Work<'_>, now: Timestamp) {
    let row = &work.held.rows.item;
    if row.status != InboxStatus::Processing {
        let taken = InboxItem {
            status: InboxStatus::Processing,
            processed_at: Some(now),
            next_retry_at: None,
            ..row.clone()
        };
        work.commit.writes.push(Write::UpdateInbox { from: row.status, item: Box::new(taken) });
    }
}

/// What the turn was resumed for is done.
fn consume_reports(work: &mut Work<'_>, now: Timestamp) {
    for report in &work.held.rows.reports {
        let mut item = report.clone();
        item.status = InboxStatus::Consumed;
        item.processed_at = item.processed_at.or(Some(now));
        work.commit.writes.push(Write::UpdateInbox { from: report.status, item: Box::new(item) });
    }
}
