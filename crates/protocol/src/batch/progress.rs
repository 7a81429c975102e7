//! What is to be done with a batch, as it stands. Invariant 17: no more branches are dispatched than may be under way.

use cardwire_model::{Batch, BatchStatus, CloseReason, Timestamp};

/// How a batch stands.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Its row.
    pub batch: &'a Batch,
    /// A branch is open.
    pub open: bool,
    /// A branch has failed.
    pub failed: bool,
    /// Branches that have succeeded, if a number of them is enough.
    pub succeeded: u32,
    /// Branches that are under way, if their number is bounded.
    pub dispatched: u32,
    /// Branches that are to be dispatched now.
    pub pending: usize,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Wait.
    Nothing,
    /// Dispatch so many of the branches that wait for it (BM-08, BM-10).
    Dispatch(usize),
    /// Take no more ends of branches, then join.
    BeginClose(CloseReason),
    /// Tell the parent.
    Join,
}

/// Decides. What the branches have done already counts before the time that is up (BM-18).
pub fn next(facts: &Facts<'_>, now: Timestamp) -> Next {
    let batch = facts.batch;
    if batch.status != BatchStatus::Running {
        return Next::Nothing;
    }
    if batch.closing.is_some() || !facts.open {
        return Next::Join;
    }
    if batch.fail_fast && facts.failed {
        return Next::BeginClose(CloseReason::FailFast);
    }
    if batch.enough > 0 && facts.succeeded >= batch.enough {
        return Next::BeginClose(CloseReason::Enough);
    }
    if batch.deadline_at.is_some_and(|deadline| deadline < now) {
        return Next::BeginClose(CloseReason::Deadline);
    }
    let room = if batch.parallel == 0 {
        facts.pending
    } else {
        batch.parallel.saturating_sub(facts.dispatched) as usize
    };
    match facts.pending.min(room) {
        0 => Next::Nothing,
        some => Next::Dispatch(some),
    }
}
