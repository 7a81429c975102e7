//! Heads and inbox rows, as whole rows.

use super::{
    Read, Record, damaged, get, name, named, number, optional, optional_hash, optional_name, optional_time,
    time,
};
use cardwire_model::{
    AgentId, BatchId, BoxId, BranchKey, CardId, Ended, Head, InboxId, InboxItem, InboxKind, InboxStatus,
    Live, LiveState, Status, TaskStatus, TurnEpoch, TurnId,
};
use cardwire_store::HeldRow;
use tokio_postgres::Row;
use uuid::Uuid;

/// A row of `state_agent_state_head`.
pub(crate) fn head(row: &Record<'_>) -> Read<Head> {
    let status = named(row, 16, Status::from_name, "a status")?;
    let state = match status {
        Status::Idle => None,
        Status::Dispatched => Some(LiveState::Dispatched),
        Status::Running => Some(LiveState::Running),
        Status::Suspended => Some(LiveState::Suspended {
            waiting: number(row, 17, "a count of tools")?,
            resume_by: time(row, 18)?,
        }),
    };
    Ok(Head {
        agent_id: name(row, 1, "an agent's name")?,
        epoch: TurnEpoch::new(number(row, 8, "an epoch")?),
        live: state.map(|state| live(row, state).map(Box::new)).transpose()?,
        last_output_box: get::<Option<Uuid>>(row, 7)?.map(BoxId::from_uuid),
        queued: number(row, 24, "a count of turns")?,
        updated_at: time(row, 23)?,
    })
}

fn live(row: &Record<'_>, state: LiveState) -> Read<Live> {
    let box_id = |column: usize| get::<Uuid>(row, column).map(BoxId::from_uuid);
    Ok(Live {
        turn_id: TurnId::from_uuid(get(row, 2)?),
        inbox_id: InboxId::from_uuid(get(row, 3)?),
        state,
        channel: name(row, 12, "a channel")?,
        worker_target: name(row, 13, "a worker target")?,
        profile_box: box_id(4)?,
        context_box: box_id(5)?,
        output_box: box_id(6)?,
        watermark: number(row, 9, "a length")?,
        depth: number(row, 10, "a depth")?,
        trace_id: get(row, 14)?,
        parent_step: optional_name(row, 15, "a step's id")?,
        dispatched_at: time(row, 11)?,
        rung_at: optional_time(row, 19)?,
        deliverable: get::<Option<Uuid>>(row, 20)?.map(CardId::from_uuid),
        open_calls: number(row, 21, "a count of calls")?,
        marks: number(row, 22, "a count of marks")?,
    })
}

/// A row in the hands of a worker.
pub(crate) fn held_row(row: &Row) -> Read<HeldRow> {
    Ok(HeldRow {
        seq: number(row, 0, "a place in the queue")?,
        project: name(row, 1, "a project's name")?,
        turn_id: TurnId::from_uuid(get(row, 2)?),
        epoch: optional(row, 3, "an epoch")?.map(TurnEpoch::new),
    })
}

/// A row of `state_agent_inbox`. What only a damaged row lacks is lacking when it cannot be read (WD-10): one such row
/// must not keep anybody from the others.
pub(crate) fn inbox_item(row: &Record<'_>) -> Read<InboxItem> {
    Ok(InboxItem {
        id: InboxId::from_uuid(get(row, 1)?),
        seq: number(row, 2, "a place in the queue")?,
        agent_id: name(row, 5, "an agent's name")?,
        kind: named(row, 6, InboxKind::from_name, "an inbox row's kind")?,
        status: named(row, 17, InboxStatus::from_name, "an inbox row's status")?,
        turn_id: TurnId::from_uuid(get(row, 4)?),
        epoch: optional(row, 18, "an epoch")?.map(TurnEpoch::new),
        correlation_id: get(row, 7)?,
        worker_target: name(row, 8, "a worker target")?,
        channel: get::<Option<&str>>(row, 9)?.and_then(|name| name.parse().ok()),
        depth: get::<Option<i64>>(row, 10)?.and_then(|depth| depth.try_into().ok()),
        trace_id: get(row, 11)?,
        parent_turn: get::<Option<Uuid>>(row, 12)?.map(TurnId::from_uuid),
        parent_call: get(row, 13)?,
        parent_step: optional_name(row, 14, "a step's id")?,
        branch: branch(row)?,
        output_box: get::<Option<Uuid>>(row, 15)?.map(BoxId::from_uuid),
        payload: get(row, 16)?,
        worker_id: get(row, 19)?,
        token_hash: optional_hash(row, 20)?,
        created_at: time(row, 3)?,
        processed_at: optional_time(row, 21)?,
        retry_count: number(row, 22, "a count of retries")?,
        next_retry_at: optional_time(row, 23)?,
        reason: get(row, 24)?,
        ended: get::<Option<&str>>(row, 25)?.map(|_| ended(row)).transpose()?,
    })
}

/// The branch that a turn is: both or none.
fn branch(row: &Record<'_>) -> Read<Option<BranchKey>> {
    let (batch, index) = (get::<Option<Uuid>>(row, 32)?, optional(row, 33, "a branch's index")?);
    Ok(batch.zip(index).map(|(id, index)| BranchKey { batch_id: BatchId::from_uuid(id), index }))
}

fn ended(row: &Record<'_>) -> Read<Ended> {
    Ok(Ended {
        status: named(row, 25, TaskStatus::from_name, "a task's status")?,
        deliverable: CardId::from_uuid(get(row, 26)?),
        error: get(row, 27)?,
        error_code: get(row, 28)?,
        output: (number(row, 29, "a length")?, number(row, 30, "a length")?),
        at: time(row, 31)?,
    })
}

/// A box and an agent that writes it.
pub(crate) fn writer(row: &Record<'_>) -> Read<(BoxId, AgentId)> {
    let box_id = get::<Option<Uuid>>(row, 0)?.ok_or_else(|| damaged("a box"))?;
    Ok((BoxId::from_uuid(box_id), name(row, 1, "an agent's name")?))
}
