//! Release: the holder of a turn gives it back unfinished, e.g. because it is shutting down. Another worker gets it
//! under a new epoch, so that nothing the first one still has under way can count. It may be put off for a while
//! (DP-15).

use super::{
    Outcome,
    append::check_call_id,
    fence::{self, Fence},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    InboxItem, InboxStatus, Invalid, LiveState, ProjectId, Snapshot, Status, Write, limits,
};

/// A turn to give back.
#[derive(Debug, Clone)]
pub struct Release {
    /// Who writes.
    pub fence: Fence,
    /// Not before so many seconds have passed.
    pub defer_seconds: Option<u32>,
    /// Why.
    pub reason: Option<String>,
    /// Leave tool calls open for the next holder, who knows what to do with them.
    pub keep_calls: bool,
}

/// Gives the turn back.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Release,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    if let Some(reason) = &command.reason {
        check_call_id("reason", reason)?;
    }
    if command.defer_seconds.is_some_and(|seconds| seconds > limits::RESUME_SECONDS_MAX) {
        let range = format!("must be at most {}", limits::RESUME_SECONDS_MAX);
        return Err(Invalid::field("defer_seconds", range).into());
    }
    let held = fence::hold(snapshot, project, &command.fence, &[Status::Dispatched, Status::Running])?;
    let mut work = Work::new(held, moment);
    if !command.keep_calls && !work.open.is_empty() {
        return Err(Rejection::Conflict("the turn has tool calls without an answer".to_owned()));
    }
    let item = &held.rows.item;
    let epoch = held.head.epoch.next();
    let deferred = command.defer_seconds.filter(|seconds| *seconds > 0);
    let given_back = InboxItem {
        status: if deferred.is_some() { InboxStatus::Deferred } else { InboxStatus::Pending },
        epoch: Some(epoch),
        worker_id: None,
        processed_at: None,
        retry_count: item.retry_count + 1,
        next_retry_at: deferred.map(|seconds| moment.now.plus_seconds(seconds.into())),
        reason: command.reason.clone(),
        ..item.clone()
    };
    work.commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(given_back) });
    let mut to = held.moved(LiveState::Dispatched, moment.now);
    to.epoch = epoch;
    if let Some(live) = &mut to.live {
        // A new lease: its time runs from when it can be claimed.
        live.dispatched_at = deferred.map_or(moment.now, |seconds| moment.now.plus_seconds(seconds.into()));
        live.rung_at = Some(moment.now);
    }
    Ok(work.go(to, Outcome::Released(epoch)))
}
