//! Planted bugs. Each bends what the kernel reads or what it writes the way a real mistake in `protocol` would, so that
//! the checks are seen to fail. Nothing of this is in the product.

mod batches;

use super::world::Shared;
pub(super) use batches::{bend_standing, bend_stops};
use cardwire_model::{
    Commit, EventKind, Head, HeadGuard, InboxId, InboxItem, InboxKind, InboxStatus, Keys, Live, LiveState,
    Realm, Snapshot, Status, ToolCall, TurnId, TurnPayload, Write,
};
use cardwire_store::Store;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutant {
    /// A holder whose turn was taken away may still write.
    UnfencedWrite,
    /// A turn is leased to a busy agent.
    TwoLiveTurns,
    /// A lease does not raise the epoch.
    LeaseKeepsEpoch,
    /// Rebuilding a head forgets the epoch it had.
    RebuildForgetsEpoch,
    /// The end of a turn is told twice.
    SecondTaskEvent,
    /// A turn that is taken away is not told of.
    ReapIsNotTold,
    /// The deliverable is named but not written.
    DeliverableNotWritten,
    /// Ringing again makes the lease younger.
    RingResetsTimestamp,
    /// Ringing again inserts the turn again.
    RingInsertsAgain,
    /// The newest waiting turn is leased first.
    LastComeFirstServed,
    /// Who waits is not counted, so nobody looks.
    WaitingNotCounted,
    /// A claimed row can be claimed again.
    ClaimLeavesRow,
    /// A second answer to a tool call is taken.
    ReportTakenTwice,
    /// Tool calls of a turn that ends are left without an answer.
    OrphanedCalls,
    /// An answer does not count towards what the turn waits for.
    AnswerDoesNotCount,
    /// A stopped turn goes on.
    StopForgetsTheRow,
    /// A batch that is closed is joined again.
    JoinedTwice,
    /// A batch is closed in one commit and told in another, which is lost.
    JoinedUntold,
    /// The parent is told of all branches but one.
    EntryMissing,
    /// The parent is told in another order.
    EntriesOutOfOrder,
    /// The end of a turn does not reach its branch.
    BranchEndUntold,
    /// An end counts after its batch was closed.
    LateEndCounts,
    /// A failed branch does not end a batch that wants to fail fast.
    FailFastForgotten,
    /// A batch is not given up when its time is over.
    DeadlineForgotten,
    /// Branches are dispatched without asking how many are under way.
    ParallelForgotten,
    /// A batch is closed while its branches are at work.
    ClosedTooEarly,
    /// A sweep is done without stopping anybody.
    SweepStopsNobody,
    /// Whoever is stopped leaves its descendants behind.
    StopSweepsNothing,
    /// A batch that is closed early leaves its turns behind.
    CloseSweepsNothing,
    /// A branch gets two turns.
    BranchDispatchedTwice,
    /// A parent that is gone is answered.
    GoneParentIsTold,
    /// Turns below a root are not counted.
    TreeNotCounted,
    /// A turn that is taken back from its worker keeps its epoch.
    TakeBackKeepsEpoch,
    /// Nobody records that a worker lost its turn.
    LostAttemptUnrecorded,
}

impl Mutant {
    pub(super) const ALL: &'static [Self] = &[
        Self::UnfencedWrite,
        Self::TwoLiveTurns,
        Self::LeaseKeepsEpoch,
        Self::RebuildForgetsEpoch,
        Self::SecondTaskEvent,
        Self::ReapIsNotTold,
        Self::DeliverableNotWritten,
        Self::RingResetsTimestamp,
        Self::RingInsertsAgain,
        Self::LastComeFirstServed,
        Self::WaitingNotCounted,
        Self::ClaimLeavesRow,
        Self::ReportTakenTwice,
        Self::OrphanedCalls,
        Self::AnswerDoesNotCount,
        Self::StopForgetsTheRow,
        Self::JoinedTwice,
        Self::JoinedUntold,
        Self::EntryMissing,
        Self::EntriesOutOfOrder,
        Self::BranchEndUntold,
        Self::LateEndCounts,
        Self::FailFastForgotten,
        Self::DeadlineForgotten,
        Self::ParallelForgotten,
        Self::ClosedTooEarly,
        Self::SweepStopsNobody,
        Self::StopSweepsNothing,
        Self::CloseSweepsNothing,
        Self::BranchDispatchedTwice,
        Self::GoneParentIsTold,
        Self::TreeNotCounted,
        Self::TakeBackKeepsEpoch,
        Self::LostAttemptUnrecorded,
    ];
}

/// What the kernel is told it has read.
pub(super) fn bend_snapshot(shared: &Shared, keys: &Keys, snapshot: &mut Snapshot) {
    match shared.mutant {
        Some(Mutant::UnfencedWrite) => {
            let fenced = shared.current.lock().unwrap().fence;
            if let (Some((turn, epoch)), Some(rows)) = (fenced, &snapshot.turn)
                && keys.turn == Some(turn)
                && let Some(head) = &mut snapshot.head
                && head.live.as_ref().is_none_or(|live| live.turn_id != turn || head.epoch != epoch)
                && let Some(live) = pretended(&rows.item)
            {
                head.epoch = epoch;
                head.live = Some(Box::new(live));
            }
        }
        Some(Mutant::TwoLiveTurns) if keys.turn.is_none() => {
            if let Some(head) = &mut snapshot.head {
                head.live = None;
                head.queued = 0;
            }
        }
        Some(Mutant::LastComeFirstServed) => {
            if let Some(rows) = &mut snapshot.turn {
                rows.next.reverse();
            }
        }
        Some(Mutant::RebuildForgetsEpoch) => {
            if let Some(lost) = &mut snapshot.lost {
                lost.highest = cardwire_model::TurnEpoch::ZERO;
                if let Some(copy) = &mut lost.copy {
                    copy.epoch = cardwire_model::TurnEpoch::ZERO;
                }
            }
        }
        _ => {}
    }
}

fn pretended(item: &InboxItem) -> Option<Live> {
    let payload = TurnPayload::from_stored(&item.payload).ok()?;
    Some(Live {
        turn_id: item.turn_id,
        inbox_id: item.id,
        state: LiveState::Running,
        channel: item.channel.clone()?,
        worker_target: item.worker_target.clone(),
        profile_box: payload.profile_box,
        context_box: payload.context_box,
        output_box: payload.output_box,
        watermark: 0,
        depth: 0,
        trace_id: item.trace_id.clone()?,
        parent_step: None,
        dispatched_at: item.created_at,
        rung_at: None,
        deliverable: None,
        open_calls: 0,
        marks: 0,
    })
}

/// Every call of a turn, as the kernel is told.
pub(super) fn bend_calls(shared: &Shared, mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
    if shared.mutant == Some(Mutant::ReportTakenTwice) {
        calls.iter_mut().for_each(|call| call.answer = None);
    }
    calls
}

/// What the store is given to write for a claim.
pub(super) fn bend_claim(shared: &Shared, mut commit: Commit) -> Commit {
    if shared.mutant == Some(Mutant::ClaimLeavesRow) {
        for write in &mut commit.writes {
            if let Write::UpdateInbox { from, item } = write
                && item.status == InboxStatus::Processing
            {
                item.status = *from;
            }
        }
    }
    commit
}

/// What the store is given to write.
pub(super) async fn bend_commit(shared: &Shared, store: &dyn Store, mut commit: Commit) -> Commit {
    let Some(mutant) = shared.mutant else { return commit };
    let Realm::Project(project) = commit.realm.clone() else { return commit };
    match mutant {
        Mutant::UnfencedWrite | Mutant::TwoLiveTurns => {
            for write in &mut commit.writes {
                let (Write::MoveHead { guard, .. } | Write::NudgeHead { guard, .. }) = write else {
                    continue;
                };
                if let Ok(Some(actual)) = store.head(&project, &guard.agent_id).await {
                    *guard = HeadGuard { queued: (0, u32::MAX), ..actual.guard() };
                }
            }
        }
        Mutant::LeaseKeepsEpoch => {
            let mut lowered: Vec<TurnId> = vec![];
            for write in &mut commit.writes {
                if let Write::MoveHead { guard, to, .. } = write
                    && guard.status == Status::Idle
                    && let Some(live) = &to.live
                {
                    to.epoch = guard.epoch;
                    lowered.push(live.turn_id);
                }
            }
            for write in &mut commit.writes {
                if let Write::Enqueue(item) | Write::UpdateInbox { item, .. } = write
                    && lowered.contains(&item.turn_id)
                {
                    item.epoch = item.epoch.map(|epoch| cardwire_model::TurnEpoch::new(epoch.get() - 1));
                }
            }
        }
        Mutant::SecondTaskEvent => {
            let again: Vec<_> =
                commit.events.iter().filter(|event| event.kind == EventKind::AgentTask).cloned().collect();
            commit.events.extend(again);
        }
        Mutant::ReapIsNotTold => {
            let reaped = shared.current.lock().unwrap().watchdog;
            commit.events.retain(|event| !(reaped && event.kind == EventKind::AgentTask));
        }
        Mutant::DeliverableNotWritten => {
            commit.writes.retain(
                |write| !matches!(write, Write::PutCard(card) if card.kind.as_str() == "task.deliverable"),
            );
        }
        Mutant::RingResetsTimestamp => ring_resets(&mut commit, store, &project).await,
        Mutant::RingInsertsAgain => ring_inserts(&mut commit, store, &project).await,
        Mutant::WaitingNotCounted => {
            for write in &mut commit.writes {
                if let Write::NudgeHead { nudge, .. } = write {
                    nudge.queued = nudge.queued.min(0);
                }
            }
        }
        Mutant::ReportTakenTwice => {
            let mut kept = vec![];
            for write in commit.writes {
                let answered = match &write {
                    Write::UpdateCall(call) => {
                        let calls = store.calls(&project, call.turn_id).await.unwrap_or_default();
                        calls
                            .iter()
                            .any(|known| known.tool_call_id == call.tool_call_id && known.answer.is_some())
                    }
                    Write::AddEdge(edge) => edge.primitive == cardwire_model::Primitive::Report,
                    _ => false,
                };
                if !answered {
                    kept.push(write);
                }
            }
            commit.writes = kept;
        }
        Mutant::OrphanedCalls => {
            let ends = commit.events.iter().any(|event| event.kind == EventKind::AgentTask);
            let synthetic = |write: &Write| match write {
                Write::UpdateCall(_) => true,
                Write::PutCard(card) => card.metadata.as_str().contains("synthetic"),
                _ => false,
            };
            if ends {
                let dropped: Vec<_> = commit
                    .writes
                    .iter()
                    .filter_map(|write| match write {
                        Write::PutCard(card) if synthetic(write) => Some(card.id),
                        _ => None,
                    })
                    .collect();
                commit.writes.retain(|write| !synthetic(write));
                for write in &mut commit.writes {
                    if let Write::AppendCards { cards, .. } = write {
                        cards.retain(|card| !dropped.contains(card));
                    }
                }
            }
        }
        Mutant::AnswerDoesNotCount => {
            for write in &mut commit.writes {
                if let Write::MoveHead { guard, to, .. } = write
                    && guard.status == Status::Suspended
                    && let Some(live) = &mut to.live
                    && let LiveState::Suspended { waiting, .. } = &mut live.state
                {
                    *waiting += 1;
                }
            }
        }
        Mutant::StopForgetsTheRow => {
            let stops = commit.audit.iter().any(|row| row.action == cardwire_model::AuditAction::TurnStop);
            if stops {
                commit.writes.retain(|write| {
                    !matches!(write, Write::UpdateInbox { item, .. } if item.status == InboxStatus::Skipped && item.kind == InboxKind::Turn)
                });
                commit.events.retain(|event| event.kind != EventKind::AgentTask);
            }
        }
        Mutant::TakeBackKeepsEpoch if records_loss(&commit) => {
            for write in &mut commit.writes {
                match write {
                    Write::MoveHead { guard, to, .. } => to.epoch = guard.epoch,
                    Write::UpdateInbox { item, .. } => {
                        item.epoch = item.epoch.map(|epoch| cardwire_model::TurnEpoch::new(epoch.get() - 1));
                    }
                    _ => {}
                }
            }
        }
        Mutant::LostAttemptUnrecorded if records_loss(&commit) => {
            commit.writes.retain(|write| !matches!(write, Write::CreateStep(_)));
        }
        Mutant::TakeBackKeepsEpoch | Mutant::LostAttemptUnrecorded => {}
        Mutant::LastComeFirstServed | Mutant::ClaimLeavesRow | Mutant::RebuildForgetsEpoch => {}
        Mutant::JoinedTwice
        | Mutant::JoinedUntold
        | Mutant::EntryMissing
        | Mutant::EntriesOutOfOrder
        | Mutant::BranchEndUntold
        | Mutant::LateEndCounts
        | Mutant::FailFastForgotten
        | Mutant::DeadlineForgotten
        | Mutant::ParallelForgotten
        | Mutant::ClosedTooEarly
        | Mutant::SweepStopsNobody
        | Mutant::StopSweepsNothing
        | Mutant::CloseSweepsNothing
        | Mutant::BranchDispatchedTwice
        | Mutant::GoneParentIsTold
        | Mutant::TreeNotCounted => {
            batches::bend(mutant, store, &project, &mut commit).await;
        }
    }
    commit
}

/// Whether a worker loses its turn.
fn records_loss(commit: &Commit) -> bool {
    commit.writes.iter().any(|write| matches!(write, Write::CreateStep(step) if step.phase == "taken_back"))
}

async fn rung_head(
    commit: &Commit,
    store: &dyn Store,
    project: &cardwire_model::ProjectId,
) -> Option<(usize, Head)> {
    for (place, write) in commit.writes.iter().enumerate() {
        if let Write::NudgeHead { guard, nudge } = write
            && nudge.rung.is_some()
        {
            let head = store.head(project, &guard.agent_id).await.ok()??;
            return Some((place, head));
        }
    }
    None
}

async fn ring_resets(commit: &mut Commit, store: &dyn Store, project: &cardwire_model::ProjectId) {
    let Some((place, mut head)) = rung_head(commit, store, project).await else { return };
    let guard = head.guard();
    if let Some(live) = &mut head.live {
        live.dispatched_at = live.dispatched_at.plus_seconds(1);
    }
    commit.writes[place] = Write::MoveHead { guard, to: Box::new(head), queued: 0, is_copied: true };
}

async fn ring_inserts(commit: &mut Commit, store: &dyn Store, project: &cardwire_model::ProjectId) {
    let Some((_, head)) = rung_head(commit, store, project).await else { return };
    let Some(live) = head.live else { return };
    if let Ok(Some(item)) = store.turn(project, live.turn_id).await {
        let turn_id = TurnId::from_uuid(uuid::Uuid::from_u128(live.turn_id.uuid().as_u128() ^ 1));
        let id = InboxId::from_uuid(uuid::Uuid::from_u128(item.id.uuid().as_u128() ^ 1));
        commit.writes.push(Write::Enqueue(Box::new(InboxItem { id, turn_id, ..item })));
    }
}
