//! What filters and horizons mean, one predicate per kind of row.
//!
//! The reference store reads by them, and the differential test sorts out with them what a store may give beyond
//! what is due.

use cardwire_model::{
    Batch, Branch, BranchStatus, Edge, Head, IdentityEdge, InboxItem, InboxKind, InboxStatus, LiveState,
    NewAudit, Status, Step, Timestamp,
};
use cardwire_store::{BatchFilter, ClaimQuery, HeldQuery, Horizon, RowFilter};

/// Whether a part of a filter that may be left out lets a value pass.
fn passes<T: PartialEq>(part: Option<&T>, value: Option<&T>) -> bool {
    part.is_none() || part == value
}

/// The same for rows that have a value at each of two ends.
fn passes_either<T: PartialEq>(part: Option<&T>, ends: [Option<&T>; 2]) -> bool {
    part.is_none() || ends.contains(&part)
}

fn in_time(filter: &RowFilter, created_at: Timestamp) -> bool {
    filter.from.is_none_or(|from| created_at >= from) && filter.until.is_none_or(|until| created_at < until)
}

/// Whether a reader wants this inbox row.
pub fn item_is_wanted(filter: &RowFilter, item: &InboxItem) -> bool {
    passes(filter.agent_id.as_ref(), Some(&item.agent_id))
        && passes(filter.turn_id.as_ref(), Some(&item.turn_id))
        && passes(filter.trace_id.as_ref(), item.trace_id.as_ref())
        && passes(filter.correlation_id.as_ref(), Some(&item.correlation_id))
        && passes(filter.inbox_status.as_ref(), Some(&item.status))
        && (!filter.turns_only || item.kind == InboxKind::Turn)
        && in_time(filter, item.created_at)
}

/// Whether a reader wants this step.
pub fn step_is_wanted(filter: &RowFilter, step: &Step) -> bool {
    passes(filter.agent_id.as_ref(), Some(&step.agent_id))
        && passes(filter.turn_id.as_ref(), Some(&step.turn_id))
        && passes(filter.trace_id.as_ref(), Some(&step.trace_id))
        && passes(filter.step_status.as_ref(), step.status.as_ref())
        && passes(filter.step_phase.as_ref(), Some(&step.phase))
        && in_time(filter, step.created_at)
}

/// Whether a reader wants this row of the audit log.
pub fn audit_is_wanted(filter: &RowFilter, row: &NewAudit) -> bool {
    passes(filter.actor.as_ref(), Some(&row.actor))
        && passes(filter.action.as_ref(), Some(&row.action))
        && passes(filter.subject.as_ref(), Some(&row.subject))
        && passes(filter.verdict.as_ref(), Some(&row.verdict))
        && in_time(filter, row.at)
}

/// Whether a reader wants this edge.
pub fn edge_is_wanted(filter: &RowFilter, edge: &Edge) -> bool {
    let agents = [edge.source_agent.as_ref(), edge.target_agent.as_ref()];
    let turns = [edge.source_turn.as_ref(), edge.target_turn.as_ref()];
    passes_either(filter.agent_id.as_ref(), agents)
        && passes_either(filter.turn_id.as_ref(), turns)
        && passes(filter.trace_id.as_ref(), Some(&edge.trace_id))
        && passes(filter.correlation_id.as_ref(), Some(&edge.correlation_id))
        && passes(filter.primitive.as_ref(), Some(&edge.primitive))
        && passes(filter.phase.as_ref(), Some(&edge.phase))
        && in_time(filter, edge.created_at)
}

/// Whether a reader wants this identity edge.
pub fn identity_edge_is_wanted(filter: &RowFilter, edge: &IdentityEdge) -> bool {
    passes_either(filter.agent_id.as_ref(), [edge.source_agent.as_ref(), Some(&edge.target_agent)])
        && passes(filter.trace_id.as_ref(), edge.trace_id.as_ref())
        && in_time(filter, edge.created_at)
}

/// Whether a reader wants this batch.
pub fn batch_is_wanted(filter: &BatchFilter, batch: &Batch) -> bool {
    passes(filter.parent_agent.as_ref(), Some(&batch.parent_agent))
        && passes(filter.parent_turn.as_ref(), batch.parent_turn.as_ref())
        && passes(filter.trace_id.as_ref(), Some(&batch.trace_id))
        && passes(filter.status.as_ref(), Some(&batch.status))
        && filter.from.is_none_or(|from| batch.created_at >= from)
        && filter.until.is_none_or(|until| batch.created_at < until)
}

/// Whether a branch is to be dispatched now.
pub fn branch_is_due(branch: &Branch, due: Timestamp) -> bool {
    branch.status == BranchStatus::Pending && branch.next_attempt_at.is_none_or(|at| at <= due)
}

/// Whether the turn of a branch was dispatched a while ago and nobody has taken it.
pub fn branch_is_unleased(branch: &Branch, quiet: Timestamp) -> bool {
    branch.status == BranchStatus::Dispatched && branch.epoch.is_none() && branch.updated_at < quiet
}

/// Whether this is the row of a turn that has not ended.
pub fn is_open_turn(item: &InboxItem) -> bool {
    item.kind == InboxKind::Turn && item.status.is_open()
}

/// Whether a worker may claim this row.
pub fn is_claimable(query: &ClaimQuery, item: &InboxItem) -> bool {
    let due = match item.status {
        InboxStatus::Pending => true,
        InboxStatus::Deferred => item.next_retry_at.is_some_and(|at| at <= query.now),
        InboxStatus::Queued
        | InboxStatus::Processing
        | InboxStatus::Consumed
        | InboxStatus::Error
        | InboxStatus::Skipped => false,
    };
    due && item.worker_target == query.worker_target
}

/// Whether a worker may have this row in its hands, according to its agent's head.
pub fn is_held(query: &HeldQuery, item: &InboxItem, head: Option<&Head>) -> bool {
    let is_suspended = head.is_some_and(|head| head.status() == Status::Suspended);
    item.status == InboxStatus::Processing
        && item.worker_target == query.worker_target
        && item.worker_id.as_deref() == Some(&query.worker_id)
        && !(item.kind == InboxKind::Turn && is_suspended)
}

/// Whether the watchdog must be given this head.
pub fn head_is_due(horizon: &Horizon, head: &Head) -> bool {
    match head.live.as_ref().map(|live| (live.state, live.dispatched_at)) {
        None => head.queued > 0,
        Some((LiveState::Dispatched, at)) => at <= horizon.dispatched,
        Some((LiveState::Running, _)) => head.updated_at <= horizon.running,
        Some((LiveState::Suspended { resume_by, .. }, _)) => resume_by <= horizon.resume,
    }
}

/// Whether the watchdog must be given this inbox row.
pub fn item_is_due(horizon: &Horizon, item: &InboxItem) -> bool {
    match item.status {
        InboxStatus::Pending => item.created_at <= horizon.pending,
        InboxStatus::Deferred => item.next_retry_at.is_some_and(|at| at <= horizon.resume),
        InboxStatus::Processing => {
            let is_turn = item.kind == InboxKind::Turn;
            let old = if is_turn { horizon.processing } else { horizon.given };
            item.processed_at.is_some_and(|at| at <= old)
        }
        InboxStatus::Queued | InboxStatus::Consumed | InboxStatus::Error | InboxStatus::Skipped => false,
    }
}
