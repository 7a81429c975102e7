//! Planted bugs of orchestration.

use super::Mutant;
use crate::sim::world::Shared;
use cardwire_model::{
    Batch, BatchId, BatchStatus, Branch, BranchEnd, BranchStatus, CanonicalJson, Card, CardDraft, CardId,
    Commit, EdgePhase, InboxId, InboxItem, InboxStatus, Origin, Primitive, ProjectId, Sweep, TurnId, Write,
};
use cardwire_store::{Standing, Store};
use serde_json::Value;
use uuid::Uuid;

/// How a batch stands, as the kernel is told.
pub(crate) fn bend_standing(shared: &Shared, standing: &mut Standing) {
    match shared.mutant {
        Some(Mutant::JoinedTwice) => standing.batch.status = BatchStatus::Running,
        Some(Mutant::FailFastForgotten) => standing.failed = false,
        Some(Mutant::DeadlineForgotten) => standing.batch.deadline_at = None,
        Some(Mutant::ParallelForgotten) => standing.dispatched = 0,
        Some(Mutant::ClosedTooEarly) => standing.open = false,
        _ => {}
    }
}

/// What there is to stop, as the kernel is told.
pub(crate) fn bend_stops<T>(shared: &Shared, stops: Vec<T>) -> Vec<T> {
    if shared.mutant == Some(Mutant::SweepStopsNobody) { vec![] } else { stops }
}

/// What the store is given to write.
pub(super) async fn bend(mutant: Mutant, store: &dyn Store, project: &ProjectId, commit: &mut Commit) {
    let drop_writes = |commit: &mut Commit, unwanted: fn(&Write) -> bool| {
        commit.writes.retain(|write| !unwanted(write));
    };
    match mutant {
        Mutant::JoinedTwice => join_again(store, project, commit).await,
        Mutant::JoinedUntold => close_without_telling(commit),
        Mutant::EntryMissing => bend_result(commit, |entries| drop(entries.pop())),
        Mutant::EntriesOutOfOrder => bend_result(commit, |entries| entries.reverse()),
        Mutant::BranchEndUntold => drop_writes(commit, |write| matches!(write, Write::EndBranch(_))),
        Mutant::LateEndCounts => overwrite(store, project, commit).await,
        Mutant::StopSweepsNothing => {
            drop_writes(commit, |write| matches!(write, Write::AddSweep(Sweep::Turn(_))));
        }
        Mutant::CloseSweepsNothing => {
            drop_writes(commit, |write| matches!(write, Write::AddSweep(Sweep::Batch(_))));
        }
        Mutant::BranchDispatchedTwice => {
            let again = commit.writes.iter().find_map(|write| match write {
                Write::Enqueue(item) if item.branch.is_some() => Some(second(item)),
                _ => None,
            });
            commit.writes.extend(again.map(|item| Write::Enqueue(Box::new(item))));
        }
        Mutant::GoneParentIsTold => tell_the_dead(commit),
        Mutant::TreeNotCounted => drop_writes(commit, |write| matches!(write, Write::Spend { .. })),
        _ => {}
    }
}

fn closed(commit: &mut Commit) -> Option<&mut Batch> {
    commit.writes.iter_mut().find_map(|write| match write {
        Write::CloseBatch(batch) => Some(batch.as_mut()),
        _ => None,
    })
}

async fn is_closed(store: &dyn Store, project: &ProjectId, batch: BatchId) -> bool {
    let row = store.batch(project, batch).await.ok().flatten();
    row.is_some_and(|row| row.status != BatchStatus::Running)
}

/// Nothing keeps a second join from telling the parent.
async fn join_again(store: &dyn Store, project: &ProjectId, commit: &mut Commit) {
    let Some(id) = closed(commit).map(|batch| batch.id) else { return };
    if is_closed(store, project, id).await {
        commit.writes.retain(|write| match write {
            Write::CloseBatch(_) | Write::MoveBranch { .. } => false,
            Write::AddEdge(edge) => edge.primitive != Primitive::Join,
            _ => true,
        });
    }
}

/// The parent was to be told in a second commit, and the process died before that.
fn close_without_telling(commit: &mut Commit) {
    let Some(batch) = closed(commit) else { return };
    batch.result_card = None;
    commit.expect.clear();
    commit.writes.retain(|write| match write {
        Write::CloseBatch(_) | Write::MoveBranch { .. } | Write::AddSweep(_) => true,
        Write::AddEdge(edge) => edge.primitive == Primitive::Join && edge.phase == EdgePhase::Response,
        _ => false,
    });
}

/// The parent is told something else than what the branches say.
fn bend_result(commit: &mut Commit, bend: impl Fn(&mut Vec<Value>)) {
    if closed(commit).is_none() {
        return;
    }
    for write in &mut commit.writes {
        if let Write::PutCard(card) = write {
            let mut content = card.content.to_value();
            if let Some(Value::Array(entries)) = content.pointer_mut("/result/results") {
                bend(entries);
                card.content = CanonicalJson::from_value(&content).unwrap();
            }
        }
    }
}

/// The last end counts.
async fn overwrite(store: &dyn Store, project: &ProjectId, commit: &mut Commit) {
    let mut late = vec![];
    for write in &commit.writes {
        let Write::EndBranch(end) = write else { continue };
        let BranchEnd { key, status, .. } = **end;
        if !is_closed(store, project, key.batch_id).await {
            continue;
        }
        let rows = store.branches(project, key.batch_id, key.index, 1).await.unwrap_or_default();
        late.extend(rows.into_iter().map(|row| {
            let branch = Branch { status: BranchStatus::from(status), ..row.clone() };
            Write::MoveBranch { from: row.status, branch: Box::new(branch) }
        }));
    }
    commit.writes.extend(late);
}

/// Another turn for the same branch.
fn second(item: &InboxItem) -> InboxItem {
    let other = |id: Uuid| Uuid::from_u128(id.as_u128() ^ 1);
    InboxItem {
        id: InboxId::from_uuid(other(item.id.uuid())),
        turn_id: TurnId::from_uuid(other(item.turn_id.uuid())),
        status: InboxStatus::Queued,
        epoch: None,
        ..item.clone()
    }
}

/// A parent that is gone is answered like any other.
fn tell_the_dead(commit: &mut Commit) {
    let Some(batch) = closed(commit) else { return };
    if batch.parent_turn.is_none() || batch.result_card.is_some() {
        return;
    }
    let id = CardId::from_uuid(Uuid::from_u128(batch.id.uuid().as_u128() ^ 1));
    let (call, at) = (batch.parent_call.clone(), batch.closed_at.unwrap_or(batch.created_at));
    batch.result_card = Some(id);
    commit.writes.push(Write::PutCard(Box::new(told(id, call, at))));
}

fn told(id: CardId, call: String, at: cardwire_model::Timestamp) -> Card {
    let json = |text: &str| CanonicalJson::parse(text, "json").unwrap();
    let draft = CardDraft {
        content: json(r#"{"status":"success","after_execution":"suspend","result":null}"#),
        metadata: json(r#"{"type":"tool.result","author_id":"sys.pmo.batch_manager"}"#),
        tool_calls: None,
        tool_call_id: Some(call),
        ttl_seconds: None,
    };
    draft.into_card(id, Origin::Tool, at).unwrap()
}
