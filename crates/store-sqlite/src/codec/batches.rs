//! Batches, their branches and sweeps.

use super::{
    Result, damaged_column, named, optional_named, optional_slug, optional_time, optional_uuid, slug, text,
    time, uuid,
};
use cardwire_model::{
    Batch, BatchId, BatchStatus, BoxId, Branch, BranchKey, BranchStatus, CardId, CloseReason, Sweep,
    TurnEpoch, TurnId,
};
use rusqlite::Row;

pub(crate) fn batch(row: &Row<'_>) -> Result<Batch> {
    Ok(Batch {
        id: BatchId::from_uuid(uuid(row, 0)?),
        parent_agent: slug(row, 1)?,
        parent_turn: optional_uuid(row, 2)?.map(TurnId::from_uuid),
        parent_epoch: optional_epoch(row, 3)?,
        parent_call: row.get(4)?,
        parent_step: optional_slug(row, 19)?,
        channel: slug(row, 5)?,
        trace_id: row.get(6)?,
        depth: row.get(7)?,
        branches: row.get(8)?,
        fail_fast: row.get(9)?,
        enough: row.get(10)?,
        parallel: row.get(11)?,
        result_tokens: row.get(12)?,
        deadline_at: optional_time(row, 13)?,
        created_at: time(row, 14)?,
        status: named(row, 15, BatchStatus::from_name)?,
        closing: optional_named(row, 16, CloseReason::from_name)?,
        result_card: optional_uuid(row, 17)?.map(CardId::from_uuid),
        closed_at: optional_time(row, 18)?,
    })
}

pub(crate) fn branch(row: &Row<'_>) -> Result<Branch> {
    Ok(Branch {
        key: BranchKey { batch_id: BatchId::from_uuid(uuid(row, 0)?), index: row.get(1)? },
        status: named(row, 2, BranchStatus::from_name)?,
        agent_id: optional_slug(row, 3)?,
        turn_id: optional_uuid(row, 4)?.map(TurnId::from_uuid),
        epoch: optional_epoch(row, 5)?,
        context_box: optional_uuid(row, 6)?.map(BoxId::from_uuid),
        output_box: optional_uuid(row, 7)?.map(BoxId::from_uuid),
        attempts: row.get(8)?,
        next_attempt_at: optional_time(row, 9)?,
        deliverable: optional_uuid(row, 10)?.map(CardId::from_uuid),
        error_detail: row.get(11)?,
        error_code: row.get(12)?,
        warning: row.get(13)?,
        created_at: time(row, 14)?,
        updated_at: time(row, 15)?,
    })
}

/// The branch that a turn is: a batch without an index is damage.
pub(super) fn optional_branch_key(row: &Row<'_>, batch: usize, index: usize) -> Result<Option<BranchKey>> {
    let key = |batch_id| Ok(BranchKey { batch_id, index: row.get(index)? });
    optional_uuid(row, batch)?.map(BatchId::from_uuid).map(key).transpose()
}

/// Its scope, and then its id.
pub(crate) fn sweep(row: &Row<'_>, scope: usize) -> Result<Sweep> {
    Sweep::from_parts(text(row, scope)?, uuid(row, scope + 1)?).ok_or_else(|| damaged_column(row, scope))
}

fn optional_epoch(row: &Row<'_>, column: usize) -> Result<Option<TurnEpoch>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(|epoch| TurnEpoch::new(epoch as u64)))
}
