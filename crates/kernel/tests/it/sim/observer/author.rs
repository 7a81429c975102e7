//! Whose writes a commit holds. An operation that ends a turn is followed, in the same process, by what the kernel does
//! about that: joins, stops of descendants, dispatches of branches. Those are not writes of the turn's holder. Each is
//! known by its whole shape, so that nothing else passes for one.

use cardwire_model::{
    AuditAction, Batch, BranchStatus, Commit, InboxItem, InboxKind, InboxStatus, NewAudit, Nudge, Status,
    Sweep, TurnId, Write,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// Whoever the operation speaks for.
    Operation,
    /// The kernel, for this turn: it answers the turn's fork, or stops the turn.
    Turn(TurnId),
    /// The kernel, for no turn: it writes on no output box.
    Kernel,
}

/// Who stops descendants.
const SWEEPER: &str = "sys.pmo.sweep";

pub(super) fn of(commit: &Commit) -> Author {
    if commit.audit.iter().any(|row| row.action == AuditAction::StateRebuild) {
        return Author::Kernel;
    }
    if let [row] = commit.audit.as_slice()
        && row.action == AuditAction::TurnStop
        && row.actor == SWEEPER
    {
        return row.subject.parse().map_or(Author::Operation, Author::Turn);
    }
    match commit.writes.as_slice() {
        [Write::EndSweep(_)] if commit.audit.is_empty() => Author::Kernel,
        [Write::BeginClose { .. }] if commit.audit.iter().all(is_cancel) => Author::Kernel,
        [Write::CloseBatch(batch), rest @ ..] if rest.iter().all(|write| is_of_join(batch, write)) => {
            batch.parent_turn.map_or(Author::Kernel, Author::Turn)
        }
        [rest @ .., Write::MoveBranch { from, .. }]
            if *from == BranchStatus::Pending && rest.iter().all(is_of_dispatch) =>
        {
            Author::Kernel
        }
        [Write::MoveBranch { from: BranchStatus::Dispatched, .. }] => Author::Kernel,
        [Write::UpdateInbox { from: InboxStatus::Queued, item }, Write::MoveHead { guard, to, .. }]
            if guard.status == Status::Idle
                && is_leased(item)
                && to.live.as_ref().is_some_and(|live| live.turn_id == item.turn_id) =>
        {
            Author::Kernel
        }
        // Nobody waits any more, whatever the count says.
        [Write::MoveHead { guard, to, queued: ..0, .. }]
            if guard.status == Status::Idle && to.live.is_none() =>
        {
            Author::Kernel
        }
        _ => Author::Operation,
    }
}

/// To be claimed, or claimed by one who waited for it.
fn is_leased(item: &InboxItem) -> bool {
    matches!(item.status, InboxStatus::Pending | InboxStatus::Processing)
}

fn is_cancel(row: &NewAudit) -> bool {
    row.action == AuditAction::BatchCancel && row.actor == SWEEPER
}

/// What closes a batch and tells its parent. The parent's turn ends with it if another tool has said so before.
fn is_of_join(batch: &Batch, write: &Write) -> bool {
    match write {
        Write::Enqueue(item) => item.kind == InboxKind::ToolResult && Some(item.turn_id) == batch.parent_turn,
        Write::UpdateInbox { from, item } => {
            let is_next = *from == InboxStatus::Queued && is_leased(item);
            item.agent_id == batch.parent_agent && (is_next || Some(item.turn_id) == batch.parent_turn)
        }
        Write::MoveHead { guard, .. } => guard.agent_id == batch.parent_agent && guard.status != Status::Idle,
        Write::NudgeHead { guard, .. } => guard.agent_id == batch.parent_agent,
        Write::PutCard(card) => matches!(card.kind.as_str(), "tool.result" | "task.deliverable"),
        Write::UpdateCall(call) => Some(call.turn_id) == batch.parent_turn,
        Write::MoveBranch { branch, .. } => branch.key.batch_id == batch.id,
        Write::AddSweep(sweep) => *sweep == Sweep::Batch(batch.id),
        Write::AddEdge(_) | Write::AppendCards { .. } | Write::AddGrant(_) | Write::EndBranch(_) => true,
        _ => false,
    }
}

/// What puts the turn of a branch into an inbox.
fn is_of_dispatch(write: &Write) -> bool {
    match write {
        Write::Enqueue(item) => item.kind == InboxKind::Turn && item.branch.is_some(),
        Write::MoveHead { guard, .. } => guard.status == Status::Idle,
        Write::NudgeHead { nudge, .. } => *nudge == Nudge { queued: nudge.queued, ..Nudge::default() },
        Write::CreateHead(_) | Write::CreateBox(_) | Write::SealBox { .. } | Write::AddEdge(_) => true,
        _ => false,
    }
}
