//! Batches and branches, as whole rows.

use super::{Read, Record, get, name, named, number, optional, optional_name, optional_time, time};
use cardwire_model::{
    Batch, BatchId, BatchStatus, BoxId, Branch, BranchKey, BranchStatus, CardId, CloseReason, TurnEpoch,
    TurnId,
};
use uuid::Uuid;

/// A row of `state_pmo_batches`.
pub(crate) fn batch(row: &Record<'_>) -> Read<Batch> {
    let is_closing = get::<Option<&str>>(row, 17)?.is_some();
    let closing = is_closing.then(|| named(row, 17, CloseReason::from_name, "a reason for closing"));
    Ok(Batch {
        id: BatchId::from_uuid(get(row, 1)?),
        parent_agent: name(row, 2, "an agent's name")?,
        parent_turn: get::<Option<Uuid>>(row, 3)?.map(TurnId::from_uuid),
        parent_epoch: optional(row, 4, "an epoch")?.map(TurnEpoch::new),
        parent_call: get(row, 5)?,
        parent_step: optional_name(row, 20, "a step's id")?,
        channel: name(row, 6, "a channel")?,
        trace_id: get(row, 7)?,
        depth: number(row, 8, "a depth")?,
        branches: number(row, 9, "a count of branches")?,
        fail_fast: get(row, 10)?,
        enough: number(row, 11, "a count of branches")?,
        parallel: number(row, 12, "a count of branches")?,
        result_tokens: number(row, 13, "a count of tokens")?,
        deadline_at: optional_time(row, 14)?,
        created_at: time(row, 15)?,
        status: named(row, 16, BatchStatus::from_name, "a batch's status")?,
        closing: closing.transpose()?,
        result_card: get::<Option<Uuid>>(row, 18)?.map(CardId::from_uuid),
        closed_at: optional_time(row, 19)?,
    })
}

/// A row of `state_pmo_batch_tasks`.
pub(crate) fn branch(row: &Record<'_>) -> Read<Branch> {
    let batch_id = BatchId::from_uuid(get(row, 1)?);
    let box_id = |column| get::<Option<Uuid>>(row, column).map(|id| id.map(BoxId::from_uuid));
    Ok(Branch {
        key: BranchKey { batch_id, index: number(row, 2, "a branch's index")? },
        status: named(row, 12, BranchStatus::from_name, "a branch's status")?,
        agent_id: optional_name(row, 4, "an agent's name")?,
        turn_id: get::<Option<Uuid>>(row, 5)?.map(TurnId::from_uuid),
        epoch: optional(row, 6, "an epoch")?.map(TurnEpoch::new),
        context_box: box_id(7)?,
        output_box: box_id(8)?,
        attempts: number(row, 9, "a count of attempts")?,
        next_attempt_at: optional_time(row, 10)?,
        deliverable: get::<Option<Uuid>>(row, 13)?.map(CardId::from_uuid),
        error_detail: get(row, 14)?,
        error_code: get(row, 15)?,
        warning: get(row, 11)?,
        created_at: time(row, 3)?,
        updated_at: time(row, 16)?,
    })
}
